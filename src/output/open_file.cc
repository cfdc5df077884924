#include "output/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace runnel::output {
namespace {

// A task may have put a pipe there: whoever opens it, or fills it, would wait for its other end.
async::UniqueFd open_regular(const std::string& path, int flags) {
  async::UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  struct stat info{};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return {};
  if (S_ISREG(info.st_mode)) return file;
  file.reset();
  errno = EINVAL;
  return {};
}

}  // namespace

async::UniqueFd open_to_read(const std::string& path) { return open_regular(path, O_RDONLY); }

async::UniqueFd open_to_append(const std::string& path) {
  async::UniqueFd file = open_regular(path, O_RDWR | O_APPEND | O_CREAT);
  // Attempts inherit their output files, and need not learn how these were opened.
  if (file.valid()) ::fcntl(file.get(), F_SETFL, O_RDWR | O_APPEND);
  return file;
}

async::UniqueFd open_folder(const std::string& path) {
  return async::UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool is_same_file(int file, const std::string& path) {
  struct stat open_file{};
  struct stat named{};
  return ::fstat(file, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

}  // namespace runnel::output
