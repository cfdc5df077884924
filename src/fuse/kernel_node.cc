#include "fuse/kernel_node.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <unistd.h>

#include "env/clock.h"

namespace runnel::fuse {
namespace {

using volume::NodeKind;

constexpr std::uint64_t kBlock = 512;
// What programs read by at once: Python takes a buffer of this size for each file that it opens.
constexpr blksize_t kReadAtOnce = 64 << 10;

timespec time_of(const writing::Moment& moment) {
  return {static_cast<time_t>(moment.seconds), static_cast<long>(moment.nanos)};
}

}  // namespace

writing::Moment moment_now() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t now = env::real_wall_nanos();
  return {now / kSecond, static_cast<std::uint32_t>(now % kSecond)};
}

mode_t type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kFolder: return S_IFDIR;
    case NodeKind::kLink: return S_IFLNK;
    case NodeKind::kFile: break;
  }
  return S_IFREG;
}

struct stat stat_of(volume::Inode inode, const writing::FileAttributes& node) {
  struct stat all{};
  all.st_ino = inode;
  all.st_mode = type_of(node.kind) | node.mode;
  // Of a folder the count would be of the folders in it; who sees 1 counts on nothing.
  all.st_nlink = node.kind == NodeKind::kFolder ? 1 : node.links;
  all.st_uid = node.owner.value_or(::getuid());
  all.st_gid = node.group.value_or(::getgid());
  all.st_size = static_cast<off_t>(node.size);
  const std::uint64_t stored = node.kind == NodeKind::kFile ? node.size : 0;
  all.st_blocks = static_cast<blkcnt_t>((stored + kBlock - 1) / kBlock);
  all.st_blksize = kReadAtOnce;
  all.st_mtim = time_of(node.modified);
  all.st_atim = time_of(node.accessed);
  all.st_ctim = time_of(node.changed);
  return all;
}

fuse_entry_param entry_of(volume::Inode inode, const writing::FileAttributes& node) {
  fuse_entry_param entry{};
  entry.ino = inode;
  entry.attr = stat_of(inode, node);
  entry.attr_timeout = kForLong;
  entry.entry_timeout = kForLong;
  return entry;
}

fuse_entry_param no_entry() {
  fuse_entry_param entry{};  // Without an inode.
  entry.entry_timeout = kForLong;
  return entry;
}

}  // namespace runnel::fuse
