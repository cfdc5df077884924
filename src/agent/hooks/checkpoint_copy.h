#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace runnel::agent {

// A task's checkpoint folder gets the content of another task's.
struct CheckpointCopy {
  std::string from;         // The other task's checkpoint folder.
  std::string to;           // The task's own.
  std::string task_folder;  // Holds `to`, and the note of what was copied.
  std::int64_t number = 1;  // The task's first, second, ... copy: each is made once.
};

// Makes the copy, if it was not made already.
//
// Contract: killed at any moment, `to` is as it was or the whole copy, and the next call makes it
//           good. Where `from` holds nothing, `to` stays as it is. kUnavailable when `from` was
//           written to meanwhile: to be called again.
// Threads:  any; blocks as long as copying takes.
// Limits:   a file written twice within a tick of the file system's clock (4 ms) passes as still:
//           who saves should write beside and rename.
Result<void> copy_checkpoint(const CheckpointCopy& copy);

}  // namespace runnel::agent
