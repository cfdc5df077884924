#include "async/unique_fd.h"

#include <unistd.h>

namespace runnel::async {

void UniqueFd::reset() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace runnel::async
