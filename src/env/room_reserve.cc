#include "env/room_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/file_system.h"

namespace runnel::env {
namespace {

constexpr std::int64_t kBlock = 512;  // The unit of st_blocks, whatever the file system.

}  // namespace

void RoomReserve::hold() {
  CHECK(!size_.is_zero(), "a reserve of nothing");
  if (held_) return;
  held_ = is_whole() || allocate();
}

bool RoomReserve::give_up() {
  held_ = false;
  return ::unlink(path_.c_str()) == 0;
}

// A copy of the file may have its length and none of its blocks.
bool RoomReserve::is_whole() const {
  struct stat info{};
  if (::lstat(path_.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return info.st_size >= size_.count() && info.st_blocks * kBlock >= size_.count();
}

bool RoomReserve::allocate() const {
  const Result<Bytes> free = free_space(std::filesystem::path(path_).parent_path());
  if (!free.ok() || *free < size_ * 2) return false;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const detail::Descriptor file(::open(path_.c_str(), kFlags, 0600));
  if (!file.is_open()) return false;
  if (::posix_fallocate(file.number(), 0, size_.count()) == 0) return true;
  ::unlink(path_.c_str());
  return false;
}

}  // namespace runnel::env
