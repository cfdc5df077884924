#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace runnel::object {

inline constexpr std::size_t kKeyBytesMax = 900;

// Whether every store takes the key: 1 to kKeyBytesMax bytes of A-Z a-z 0-9 . _ - and /, of which
// no part is empty, "." or "..", or begins with ".runnel", which a folder needs for itself.
// kInvalid otherwise.
Result<void> check_key(std::string_view key);

// Which keys a store takes: those that every store takes, or, for plain objects of others, all that
// a bucket may have but those with a part that is empty, "." or "..", which clients and servers
// take for another path.
enum class KeyRule : std::uint8_t { kEveryStore, kBucket };
inline constexpr std::size_t kBucketKeyBytesMax = 1'024;
Result<void> check_key(std::string_view key, KeyRule rule);

}  // namespace runnel::object
