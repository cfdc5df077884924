#include "agent/testing/dead_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/result.h"
#include "env/files.h"

namespace runnel::agent::testing {

DeadMount::DeadMount(std::string path) : path_(std::move(path)) {
  MUST(env::make_directories(path_));
  device_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device_ < 0) return;
  const std::string options =
      "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0";
  mounted_ = ::mount("dead", path_.c_str(), "fuse", 0, options.c_str()) == 0;
}

DeadMount::~DeadMount() { end(); }

void DeadMount::end() {
  if (device_ >= 0) ::close(device_);
  if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  device_ = -1;
  mounted_ = false;
}

}  // namespace runnel::agent::testing
