#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "env/detail/descriptor.h"

namespace runnel::env {

// Writes our pid, and a line end, over what a lock's open file has. A full disk may not give back
// the block of a file that is cut first, so it is cut to its length last. Where the pid cannot be
// written it names nobody; false when it may name somebody else.
bool write_pid(int file);

// The exclusive right to something on this machine, such as a home: flock() on a file.
//
// Contract: acquire() never waits: when another process holds the lock it fails with kConflict, and
//           the error's `value` is the pid that the holder wrote into the file. The kernel frees
//           the lock when the holder dies, however it dies. The file is never removed: a second
//           process could lock the removed file and a third the new one. A link in its place is
//           an error: it would lead to somebody's file, which the pid is written over.
// Threads:  any; one owner.
// Lifetime: held until destruction. Children started by exec do not inherit it. Those by fork do
//           not end it, and keep it only when the holder is killed.
class FileLock {
 public:
  static Result<FileLock> acquire(const std::string& path);
  // Asks again until another holder has let go of it, for so long. Blocks.
  static Result<FileLock> acquire_within(const std::string& path, Duration patience);

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(detail::Descriptor file);
  void release();

  detail::Descriptor file_;
  pid_t process_;  // That acquired it.
};

}  // namespace runnel::env
