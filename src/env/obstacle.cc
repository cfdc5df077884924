#include "env/obstacle.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/check.h"
#include "env/files.h"

namespace runnel::env {
namespace {

const char* name_of_kind(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

Result<void> refuse_obstacle(const std::string& path) {
  CHECK(!path.empty(), "a folder without a path");
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    const bool is_below_it = errno == ENOTDIR && parent_of(path) != path;
    return is_below_it ? refuse_obstacle(parent_of(path)) : Result<void>();
  }
  if (S_ISDIR(info.st_mode)) return {};
  return Error(Errc::kInvalid, path + " is " + name_of_kind(info.st_mode) + ", not a folder")
      .with_value(path)
      .with_hint("move it away");
}

}  // namespace runnel::env
