#include "fuse/error_numbers.h"

#include <cerrno>

#include "writing/refusal.h"

namespace runnel::fuse {

int errno_of(const Error& error) {
  switch (error.code) {
    case Errc::kNotFound: return EIO;  // Of a path it is said otherwise; this is an object.
    case Errc::kDenied: return EACCES;
    case Errc::kInvalid: return EINVAL;
    case Errc::kFull: return ENOSPC;
    default: return writing::errno_of(writing::refusal_of(error));
  }
}

bool is_ordinary(const Error& error) {
  return writing::refusal_of(error) != writing::Refusal::kNone;
}

}  // namespace runnel::fuse
