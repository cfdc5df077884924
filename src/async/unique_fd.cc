#include "async/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace runnel::async {

Result<UniqueFd> UniqueFd::duplicate() const {
  UniqueFd copy(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return errno_error("copy a descriptor", errno);
  return copy;
}

void UniqueFd::reset() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace runnel::async
