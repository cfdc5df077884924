// Arbitrary bytes as what nodes and control say to each other. Whatever is read must be written to
// the text that is read back as the same; all else must be an error, never a crash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "node/wire.h"

namespace {

using namespace runnel;

template <typename Decode>
void check_text(std::string_view text, Decode decode) {
  const auto message = decode(text);
  if (!message.ok()) return;
  const std::string written = node::encode_text(*message);
  CHECK(node::encode_text(MUST(decode(written))) == written, "a message does not read back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_text(text, node::decode_up);
  check_text(text, node::decode_orders);
  return 0;
}
