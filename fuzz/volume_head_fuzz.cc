// Arbitrary bytes as a volume's head, a manifest, a session, a list of garbage and the beginning of
// a dump. Whatever is read is written as something that is read as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "volume/condemned.h"
#include "volume/dump_format.h"
#include "volume/head.h"
#include "volume/manifest.h"
#include "volume/session.h"

namespace {

using namespace runnel;
using namespace runnel::volume;

template <typename T>
void check_round_trip(std::string_view text, Result<T> (*decode)(std::string_view),
                      std::string (*encode)(const T&)) {
  const Result<T> value = decode(text);
  if (!value.ok()) return;
  const Result<T> back = decode(encode(*value));
  CHECK(back.ok(), "what was written is refused");
  CHECK(*back == *value, "a value changed by being written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_round_trip<Head>(text, decode_head, encode_head);
  check_round_trip<Manifest>(text, decode_manifest, encode_manifest);
  check_round_trip<SessionRecord>(text, decode_session, encode_session);
  check_round_trip<Condemned>(text, decode_condemned, encode_condemned);
  (void)decode_dump_header(text);
  return 0;
}
