#include "env/held_blocks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/process.h"

namespace runnel::env {
namespace {

constexpr int kToAllocate = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
constexpr std::int64_t kBlock = 512;  // The unit of st_blocks, whatever the file system.

}  // namespace

bool may_write_up_to(Bytes length) {
  struct rlimit limit{};
  CHECK(::getrlimit(RLIMIT_FSIZE, &limit) == 0, "a process knows its own limits");
  return limit.rlim_cur >= static_cast<rlim_t>(length.count());
}

Result<void> hold_blocks(int file, Bytes at, Bytes length) {
  CHECK(!length.is_zero(), "blocks of nothing are held");
  if (!may_write_up_to(at + length)) {
    return Error(Errc::kUnsupported, "files of this process may not become so long");
  }
  if (::fallocate(file, FALLOC_FL_KEEP_SIZE, at.count(), length.count()) == 0) return {};
  if (errno == EOPNOTSUPP) return Error(Errc::kUnsupported, "this file system holds no blocks");
  return errno_error("hold blocks of a file", errno);
}

Result<void> hold_blocks(const std::string& path, Bytes length) {
  const detail::Descriptor file(::open(path.c_str(), kToAllocate));
  if (!file.is_open()) return errno_error("open " + path, errno);
  return hold_blocks(file.number(), Bytes(), length);
}

Result<void> hold_blocks_ahead(const std::string& path, Bytes length) {
  const detail::Descriptor file(::open(path.c_str(), kToAllocate));
  struct stat info{};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0) {
    return errno_error("open " + path, errno);
  }
  return hold_blocks(file.number(), Bytes::count(info.st_size), length);
}

void give_up_blocks_ahead(const std::string& path) {
  const detail::Descriptor file(::open(path.c_str(), kToAllocate));
  struct stat info{};
  const bool regular =
      file.is_open() && ::fstat(file.number(), &info) == 0 && S_ISREG(info.st_mode);
  if (regular && ::ftruncate(file.number(), info.st_size) != 0) return;
}

Result<Bytes> allocated(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return errno_error("look at " + path, errno);
  if (!S_ISREG(info.st_mode)) return Error(Errc::kInvalid, path + " is no regular file");
  return Bytes::count(info.st_blocks * kBlock);
}

}  // namespace runnel::env
