#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::env {

// Allocates the blocks of `length` bytes from `at` on in an open file, beyond its end too, and
// leaves its length as it is: what is written there later needs no more room of the disk. kFull
// where the disk has none, kUnsupported where the file system cannot. Blocks. Threads: any.
Result<void> hold_blocks(int file, Bytes at, Bytes length);

// The same of an existing file from its beginning on.
Result<void> hold_blocks(const std::string& path, Bytes length);

// The same of an existing file beyond its present end.
Result<void> hold_blocks_ahead(const std::string& path, Bytes length);

// Gives them up: the file has no more blocks than its length.
void give_up_blocks_ahead(const std::string& path);

// Whether a file of this process may become so long (RLIMIT_FSIZE): who writes beyond that is sent
// SIGXFSZ, which ends it.
bool may_write_up_to(Bytes length);

// How much of the disk the file has, which may be more or less than its length.
Result<Bytes> allocated(const std::string& path);

}  // namespace runnel::env
