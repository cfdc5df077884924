#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace runnel::writing {

// Why a program cannot have what it asked for of the files of a branch. Each has an errno of its
// own, which errno_of() gives.
enum class Refusal : std::uint8_t {
  kNone,          // The error has another cause.
  kNoEntry,       // ENOENT
  kExists,        // EEXIST
  kNotFolder,     // ENOTDIR
  kIsFolder,      // EISDIR
  kNotEmpty,      // ENOTEMPTY
  kIntoItself,    // EINVAL: a folder would be below itself.
  kNameTooLong,   // ENAMETOOLONG
  kBadName,       // EINVAL
  kTooLong,       // EFBIG
  kTooManyNames,  // EMLINK
  kNoSecondName,  // EPERM: a folder can have no second name.
  kReadOnly,      // EROFS: the branch takes no change any more.
};

// kPrecondition, with what refusal_of() finds in it.
Error refused(Refusal why, std::string message);
Refusal refusal_of(const Error& error);
// As POSIX has it; EIO of kNone.
int errno_of(Refusal why);

}  // namespace runnel::writing
