#include "agent/runner/open_file.h"

#include <fcntl.h>

namespace runnel::agent {

async::UniqueFd open_to_read(const std::string& path) {
  return async::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

async::UniqueFd open_to_append(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;
  return async::UniqueFd(::open(path.c_str(), kFlags, 0644));
}

}  // namespace runnel::agent
