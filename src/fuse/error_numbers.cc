#include "fuse/error_numbers.h"

#include <cerrno>

#include "writing/refusal.h"

namespace runnel::fuse {
namespace {

using writing::Refusal;

int errno_of_refusal(Refusal why) {
  switch (why) {
    case Refusal::kNone: break;
    case Refusal::kNoEntry: return ENOENT;
    case Refusal::kExists: return EEXIST;
    case Refusal::kNotFolder: return ENOTDIR;
    case Refusal::kIsFolder: return EISDIR;
    case Refusal::kNotEmpty: return ENOTEMPTY;
    case Refusal::kIntoItself:
    case Refusal::kBadName: return EINVAL;
    case Refusal::kNameTooLong: return ENAMETOOLONG;
    case Refusal::kTooLong: return EFBIG;
    case Refusal::kTooManyNames: return EMLINK;
    case Refusal::kNoSecondName: return EPERM;
    case Refusal::kReadOnly: return EROFS;
  }
  return EIO;
}

}  // namespace

int errno_of(const Error& error) {
  switch (error.code) {
    case Errc::kNotFound: return EIO;  // Of a path it is said otherwise; this is an object.
    case Errc::kDenied: return EACCES;
    case Errc::kInvalid: return EINVAL;
    case Errc::kFull: return ENOSPC;
    default: return errno_of_refusal(writing::refusal_of(error));
  }
}

bool is_ordinary(const Error& error) { return writing::refusal_of(error) != Refusal::kNone; }

}  // namespace runnel::fuse
