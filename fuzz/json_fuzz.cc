#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "json/value.h"
#include "json/writer.h"

namespace {

using runnel::json::parse;
using runnel::json::Value;

void check_document(std::string_view text) {
  const runnel::Result<Value> value = parse(text);
  if (!value.ok()) {
    CHECK(value.error().where.line >= 1, "an error in a document has a place");
    return;
  }
  const std::string canonical = value->dump();
  const Value again = MUST(parse(canonical));
  CHECK(again == *value, "printing and reading is the identity");
  CHECK(again.dump() == canonical, "a value has one canonical text");
  CHECK(MUST(parse(value->dump_pretty())) == *value, "the text for people says the same");
}

// Any bytes become a JSON text that is read back.
void check_text(std::string_view bytes) {
  std::string out;
  runnel::json::Writer(out).text(bytes);
  const Value value = MUST(parse(out));
  CHECK(value.is_text(), "a text stays a text");
  CHECK(value.dump() == out, "a written text is canonical");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_document(input);
  check_text(input);
  return 0;
}
