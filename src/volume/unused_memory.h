#pragma once

#include <cstddef>

#include "async/event_loop.h"
#include "base/units.h"
#include "volume/reader_memory.h"

namespace runnel::volume {

// Gives the system back what no reader has used for some seconds: whatever was read is in the
// kernel's memory, or nowhere, and others need the room.
//
// Threads:  the loop's only.
// Lifetime: loop and memory outlive it.
// Limits:   what was not used for kUnusedMax goes within kLookEvery more.
class UnusedMemory {
 public:
  static constexpr Duration kLookEvery = Duration::seconds(2);
  static constexpr int kLooks = 3;
  static constexpr Duration kUnusedMax = kLookEvery * kLooks;

  UnusedMemory(async::EventLoop& loop, ReaderMemory& memory) : memory_(memory), next_(loop) {
    wait();
  }

 private:
  void wait();
  void look();

  ReaderMemory& memory_;
  async::Timer next_;
  std::size_t before_ = 0;  // At the last look.
};

}  // namespace runnel::volume
