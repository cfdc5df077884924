#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::store::sqlite {

// A second copy while the files have not changed since the first one.
enum class Again : std::uint8_t { kCopy, kUseTheLast };

// Copies the database, its write-ahead log and the note of its last batch, as far as they are
// there, to a new folder `damaged-<time>` beside them, and returns the folder. kFull, where a copy
// can be done without, when there are 20.
Result<std::string> copy_damaged(const std::string& path, Time now, Again again);

// The newest folder that such a copy went to; "" when there is none.
std::string last_copy(const std::string& path);

}  // namespace runnel::store::sqlite
