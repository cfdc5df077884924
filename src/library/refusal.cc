#include "library/refusal.h"

#include <cerrno>

#include "base/shown.h"

namespace runnel::library {

int number_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoSuchPath: return ENOENT;
    case Refusal::kNotAFolder: return ENOTDIR;
    case Refusal::kIsAFolder: return EISDIR;
    case Refusal::kTooManyLinks: return ELOOP;
    case Refusal::kLeadsOut: return ENOENT;
    case Refusal::kNameTooLong: return ENAMETOOLONG;
  }
  return EIO;
}

std::string text_of(Refusal refusal, const std::string& path, const std::string& where) {
  std::string name = "'" + shown(path) + "'";
  switch (refusal) {
    case Refusal::kNoSuchPath: return "there is no " + name + " in " + where;
    case Refusal::kNotAFolder:
      return name + " in " + where + " is no folder, or leads through a file";
    case Refusal::kIsAFolder: return name + " in " + where + " is a folder; list it";
    case Refusal::kTooManyLinks: return name + " in " + where + " leads through more than 40 links";
    case Refusal::kLeadsOut:
      return name + " leads out of " + where + ", and links are followed inside of a volume only";
    case Refusal::kNameTooLong: return name + " has a name of over 255 bytes";
  }
  return name;
}

namespace {

int number_of(Errc code) {
  switch (code) {
    case Errc::kInvalid: return EINVAL;
    case Errc::kNotFound: return ENOENT;
    case Errc::kConflict: return EBUSY;
    case Errc::kGone: return EBADF;
    case Errc::kUnsupported: return ENOTSUP;
    case Errc::kDenied: return EACCES;
    case Errc::kFull: return ENOSPC;
    case Errc::kUnavailable: return ECONNREFUSED;
    case Errc::kTimeout: return ETIMEDOUT;
    case Errc::kCancelled: return ECANCELED;
    case Errc::kPrecondition:
    case Errc::kCorrupt:
    case Errc::kIo:
    case Errc::kInternal: break;
  }
  return EIO;
}

}  // namespace

int number_of_opening(const Error& error) { return number_of(error.code); }

// The volume was there: now its version is not, or its session.
int number_of_asking(const Error& error) {
  const bool is_gone = error.code == Errc::kNotFound || error.code == Errc::kConflict;
  return is_gone ? ESTALE : number_of(error.code);
}

}  // namespace runnel::library
