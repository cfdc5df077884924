#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace runnel::fuse {

// What is open for writing, by the handles that the kernel was given, and which of it has written
// since its file was last committed.
//
// Why: a handle of a server before this one is known to the kernel alone. It may have written.
class WrittenFiles {
 public:
  using Handle = std::uint64_t;
  using Thread = std::int64_t;            // As the kernel names who asks; 0: nobody.
  static constexpr Handle kOfReader = 0;  // All that only read have this one.

  // `first`: by chance, so that no server before has given the same ones. `process_of`: the process
  // that a thread is of; 0: none that is there.
  WrittenFiles(Handle first, std::function<std::int64_t(Thread)> process_of)
      : next_(first | 1), process_of_(std::move(process_of)) {}

  Handle open() {
    const Handle given = next_++;
    open_[given] = {};
    return given;
  }
  void wrote(Handle handle, Thread thread) {
    CHECK(handle != kOfReader, "who only reads has written");
    const auto found = open_.find(handle);
    if (found != open_.end()) found->second = {.has_written = true, .writer = thread};
  }
  // Whether the file is to be committed for what was written by the handle.
  bool has_written(Handle handle) const {
    if (handle == kOfReader) return false;
    const auto found = open_.find(handle);
    return found == open_.end() || found->second.has_written;
  }
  // The same where one of its descriptors is closed by a thread: that of a process that has not
  // written is a copy, as each process gets that is forked, and says nothing.
  bool is_closed_by_writer(Handle handle, Thread thread) const {
    if (!has_written(handle)) return false;
    const auto found = open_.find(handle);
    if (found == open_.end() || found->second.writer == thread) return true;
    const std::int64_t writer = process_of_(found->second.writer);
    return writer == 0 || writer == process_of_(thread);
  }
  void committed(Handle handle) {
    const auto found = open_.find(handle);
    if (found != open_.end()) found->second.has_written = false;
  }
  void close(Handle handle) { open_.erase(handle); }

 private:
  struct Open {
    bool has_written = false;
    Thread writer = 0;
  };

  Handle next_;
  const std::function<std::int64_t(Thread)> process_of_;
  std::unordered_map<Handle, Open> open_;
};

}  // namespace runnel::fuse
