#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace runnel::env {

// The process that holds flock() on the file or folder at `path`; 0 when none does, or the kernel
// does not say. Takes no lock, so that it is in nobody's way.
std::int64_t lock_holder(const std::string& path);

// The same in the text of /proc/locks. Who only waits for the lock does not hold it.
std::int64_t lock_holder_in(std::string_view table, dev_t device, ino_t inode);

}  // namespace runnel::env
