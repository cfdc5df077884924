#pragma once

#include <string_view>

#include "base/result.h"

namespace runnel::object {

inline constexpr std::size_t kKeyBytesMax = 900;

// Whether every store takes the key: 1 to kKeyBytesMax bytes of A-Z a-z 0-9 . _ - and /, of which
// no part is empty, "." or "..", or begins with ".runnel", which a folder needs for itself.
// kInvalid otherwise.
Result<void> check_key(std::string_view key);

}  // namespace runnel::object
