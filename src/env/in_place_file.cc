#include "env/in_place_file.h"

#include <fcntl.h>

#include <cerrno>

#include "base/check.h"
#include "env/process.h"

namespace runnel::env {
namespace {

constexpr std::size_t kTextMax = 512;  // A disk writes so much whole or not at all.

}  // namespace

Result<InPlaceFile> InPlaceFile::open(const std::string& path) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  detail::Descriptor file(::open(path.c_str(), flags, 0600));
  if (!file.is_open()) return errno_error("open " + path, errno);
  return InPlaceFile(std::move(file), path);
}

Result<void> InPlaceFile::write(std::string_view text) {
  CHECK(text.size() <= kTextMax, "a file that is rewritten in place is small");
  const ssize_t written = ::pwrite(file_.number(), text.data(), text.size(), 0);
  if (written < 0) return errno_error("write " + path_, errno);
  if (static_cast<std::size_t>(written) != text.size()) {
    return Error(Errc::kFull, "write " + path_ + ": only a part was written");
  }
  return {};
}

Result<void> InPlaceFile::sync() {
  if (::fdatasync(file_.number()) != 0) return errno_error("sync " + path_, errno);
  return {};
}

}  // namespace runnel::env
