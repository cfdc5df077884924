#include "agent/runner/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

namespace runnel::agent {

// A task may have put a pipe there, which would keep whoever opens it waiting.
async::UniqueFd open_to_read(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  async::UniqueFd file(::open(path.c_str(), kFlags));
  struct stat info{};
  const bool regular = ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  return regular ? std::move(file) : async::UniqueFd();
}

async::UniqueFd open_to_append(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;
  return async::UniqueFd(::open(path.c_str(), kFlags, 0644));
}

}  // namespace runnel::agent
