#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "volume/node.h"
#include "writing/branch_files.h"

struct fuse_entry_param;

namespace runnel::fuse {

// Seconds that the kernel may remember what it is told: nobody but the mount's own users changes
// anything.
inline constexpr double kForLong = 86'400;

// By the machine's clock.
writing::Moment moment_now();

mode_t type_of(volume::NodeKind kind);
// A node as the kernel has it. What names no owner is this process's user's.
struct stat stat_of(volume::Inode inode, const writing::FileAttributes& node);
fuse_entry_param entry_of(volume::Inode inode, const writing::FileAttributes& node);
// That there is no such name, which is remembered, too.
fuse_entry_param no_entry();

}  // namespace runnel::fuse
