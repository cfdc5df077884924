#include "env/room_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/file_system.h"
#include "env/held_blocks.h"

namespace runnel::env {

void RoomReserve::hold() const {
  CHECK(!size_.is_zero(), "a reserve of nothing");
  const State state = look();
  if (state == State::kWhole || state == State::kForeign) return;
  const std::string part = path_ + ".part";
  ::unlink(part.c_str());  // Left by a process that was killed while it made the file.
  const Result<Bytes> free = free_space(std::filesystem::path(path_).parent_path());
  if (!free.ok() || *free < size_ * 2) return;
  if (state == State::kHollow) ::unlink(path_.c_str());
  make(part);
}

bool RoomReserve::give_up() const {
  const State state = look();
  const bool ours = state == State::kWhole || state == State::kHollow;
  return ours && ::unlink(path_.c_str()) == 0;
}

// A copy of the file may have its length and none of its blocks.
RoomReserve::State RoomReserve::look() const {
  struct stat info{};
  if (::lstat(path_.c_str(), &info) != 0) return State::kNone;
  const bool ours = S_ISREG(info.st_mode) && info.st_nlink == 1 && info.st_size == size_.count();
  if (!ours) return State::kForeign;
  const Result<Bytes> has = allocated(path_);
  return has.ok() && *has >= size_ ? State::kWhole : State::kHollow;
}

// Under another name first: what is killed here leaves no reserve that looks whole.
void RoomReserve::make(const std::string& part) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const detail::Descriptor file(::open(part.c_str(), kFlags, 0600));
  if (!file.is_open()) return;
  const bool whole =
      may_write_up_to(size_) && ::posix_fallocate(file.number(), 0, size_.count()) == 0;
  const bool made =
      whole && ::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0;
  if (!made) ::unlink(part.c_str());
}

}  // namespace runnel::env
