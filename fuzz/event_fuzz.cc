// Arbitrary bytes as a stored event, input or specification. Whatever is read must be written to
// text that is read back as the same, and written to the same text again: else a log would change
// by being copied, and its hash chain with it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/codec.h"

namespace {

using runnel::Result;

template <typename T, typename Decode>
void check_round_trip(const runnel::json::Value& document, Decode decode) {
  const Result<T> value = decode(document);
  if (!value.ok()) return;
  const std::string text = runnel::model::encode_text(*value);
  const Result<runnel::json::Value> again = runnel::json::parse(text);
  CHECK(again.ok(), "what was written is not JSON");
  CHECK(again->dump() == text, "what was written is not canonical");
  const Result<T> back = decode(*again);
  CHECK(back.ok(), "what was written is refused");
  CHECK(*back == *value, "a value changed by being written and read");
  CHECK(runnel::model::encode_text(*back) == text, "the text changed by being read and written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<runnel::json::Value> document = runnel::json::parse(text);
  if (!document.ok()) return 0;
  check_round_trip<runnel::model::Event>(*document, runnel::model::decode_event);
  check_round_trip<runnel::model::Input>(*document, runnel::model::decode_input);
  check_round_trip<runnel::model::JobSpec>(
      *document, [](const auto& json) { return runnel::model::decode_job_spec(json, ""); });
  return 0;
}
