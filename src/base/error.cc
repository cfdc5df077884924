#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace runnel {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::kInvalid: return "invalid";
    case Errc::kNotFound: return "not-found";
    case Errc::kConflict: return "conflict";
    case Errc::kPrecondition: return "precondition";
    case Errc::kGone: return "gone";
    case Errc::kUnsupported: return "unsupported";
    case Errc::kDenied: return "denied";
    case Errc::kFull: return "full";
    case Errc::kUnavailable: return "unavailable";
    case Errc::kTimeout: return "timeout";
    case Errc::kCancelled: return "cancelled";
    case Errc::kCorrupt: return "corrupt";
    case Errc::kIo: return "io";
    case Errc::kInternal: return "internal";
  }
  return "internal";
}

Error& Error::with_field(std::string name) {
  field = std::move(name);
  return *this;
}

Error& Error::with_value(std::string text) {
  value = std::move(text);
  return *this;
}

Error& Error::with_hint(std::string text) {
  hint = std::move(text);
  return *this;
}

Error& Error::at(SourcePosition position) {
  where = std::move(position);
  return *this;
}

std::string Error::to_string() const {
  std::string text;
  if (!where.file.empty()) {
    text += where.file;
    if (where.known()) {
      text += ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
    }
    text += ": ";
  }
  if (!field.empty()) text += field + ": ";
  text += message;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

namespace {

Errc code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT: return Errc::kNotFound;
    case EACCES:
    case EPERM: return Errc::kDenied;
    case ENOSPC:
    case EDQUOT: return Errc::kFull;
    case ECONNREFUSED:
    case EPIPE:
    case ECONNRESET:
    case EAGAIN: return Errc::kUnavailable;
    case EEXIST: return Errc::kConflict;
    case ETIMEDOUT: return Errc::kTimeout;
    default: return Errc::kIo;
  }
}

}  // namespace

Error errno_error(std::string what, int errno_value) {
  return Error(code_of(errno_value),
               std::move(what) + ": " + std::generic_category().message(errno_value));
}

}  // namespace runnel
