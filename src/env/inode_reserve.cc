#include "env/inode_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/file_system.h"

namespace runnel::env {
namespace {

detail::Descriptor open_folder(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  return detail::Descriptor(::open(path.c_str(), kFlags));
}

}  // namespace

void InodeReserve::hold() const {
  CHECK(count_ > 0, "a reserve of nothing");
  const Result<std::optional<std::int64_t>> free =
      free_inodes(std::filesystem::path(folder_).parent_path());
  const bool fixed = free.ok() && free->has_value();
  if (!fixed || **free < 2 * (std::int64_t{count_} + 1)) return;
  ::mkdir(folder_.c_str(), 0700);
  const detail::Descriptor folder = open_folder(folder_);
  if (!folder.is_open()) return;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  for (int number = 0; number < count_; ++number) {
    const std::string name = std::to_string(number);
    const detail::Descriptor file(::openat(folder.number(), name.c_str(), kFlags, 0600));
  }
}

bool InodeReserve::give_up() const {
  bool any = false;
  {
    const detail::Descriptor folder = open_folder(folder_);
    if (!folder.is_open()) return false;
    for (int number = 0; number < count_; ++number) {
      const std::string name = std::to_string(number);
      struct stat info{};
      const bool there = ::fstatat(folder.number(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
      const bool ours = there && S_ISREG(info.st_mode) && info.st_size == 0 && info.st_nlink == 1;
      if (ours && ::unlinkat(folder.number(), name.c_str(), 0) == 0) any = true;
    }
  }
  ::rmdir(folder_.c_str());
  return any;
}

}  // namespace runnel::env
