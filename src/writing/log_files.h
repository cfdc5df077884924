#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runnel::writing {

// The segments of a log on a disk, by their numbers.
//
// Contract: a segment is there whole, with its header, or not at all, and so after a power loss:
//           make(), retire() and remove() are durable when they return; to remove or retire one
//           that is not there is nothing. What write() has given is there for whoever opens it
//           next, also when this process is killed, and on the disk after sync(). 512 bytes come to
//           the disk whole or not at all.
// Threads:  any, one at a time. All block.
class LogFiles {
 public:
  virtual ~LogFiles() = default;

  // In their order, but for retired ones.
  virtual Result<std::vector<std::uint64_t>> numbers() const = 0;
  virtual Result<std::vector<std::uint64_t>> retired() const = 0;
  // Holds the room for a segment, so that the next make() of its size needs none. kFull without it.
  // What begins anew, and makes room by that, may take a reserve, which is held from the beginning.
  enum class Reserve : std::uint8_t { kLeave, kTake };
  // kWritten: a sync of what is written there has nothing of the file system to write. kPromised is
  // quicker to have, for where few syncs come.
  enum class Room : std::uint8_t { kWritten, kPromised };
  virtual Result<void> hold_room(std::uint64_t size, Room room, Reserve reserve) = 0;
  // `header`, then zeros: `size` bytes, which have their room. kFull without it on the disk.
  virtual Result<void> make(std::uint64_t number, std::string_view header, std::uint64_t size) = 0;
  virtual Result<std::string> read(std::uint64_t number) const = 0;
  virtual Result<void> write(std::uint64_t number, std::uint64_t place, std::string_view bytes) = 0;
  // Whether write() is likely to give bytes to the kernel without waiting for a disk, so that an
  // event loop may call it. By any thread.
  virtual bool writes_at_once() const = 0;
  virtual Result<void> sync(std::uint64_t number) = 0;
  // `length` bytes of a segment, retired or not, from `place` on. Beside all others, by any thread.
  virtual Result<std::string> read_part(std::uint64_t number, std::uint64_t place,
                                        std::size_t length) const = 0;
  // It is no part of the log any more, and is kept for the bytes in it.
  virtual Result<void> retire(std::uint64_t number) = 0;
  // One that is retired or not.
  virtual Result<void> remove(std::uint64_t number) = 0;
};

}  // namespace runnel::writing
