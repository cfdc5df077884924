#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::env {

// Whether somebody holds flock() on the file or folder at `path`. Shares the lock for a moment:
// whoever wants it alone just then is refused.
bool is_locked(const std::string& path);

// The process that holds flock() on the first of these files and folders that is locked; 0 when
// none is, or the kernel does not say. Takes no lock.
//
// Cost: the kernel keeps everybody on the machine from taking and giving back a lock on any file
//       until all processors have let go of its table: milliseconds, or seconds where they are busy
//       (file_rwsem in fs/locks.c). Never to be asked again and again.
std::int64_t lock_holder(const std::vector<std::string>& paths);

// The same in the text of /proc/locks. Who only waits for the lock does not hold it.
std::int64_t lock_holder_in(std::string_view table, dev_t device, ino_t inode);

}  // namespace runnel::env
