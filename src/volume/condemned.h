#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::volume {

// A list of garbage: what may be deleted once the head names the list, and which sessions were
// there when it was made. docs/design/volume_gc.md.
struct Condemned {
  std::set<std::string> keys;  // Below the volume's prefix.
  std::set<std::string> live;  // Tags of sessions: nothing of theirs is among the keys.
};

inline constexpr std::int64_t kCondemnedBytesMax = 256 << 20;

std::string condemned_key(std::string_view nonce);  // "g/..."
std::string encode_condemned(const Condemned& condemned);
// kCorrupt for what is no list of garbage.
Result<Condemned> decode_condemned(std::string_view text);

}  // namespace runnel::volume
