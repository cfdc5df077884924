#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/event_loop.h"
#include "base/result.h"
#include "base/units.h"

namespace runnel::async {

// Tells of turns of a loop that keep everybody else waiting: one that computes for longer than
// `turn_max`, or calls what blocks.
//
// Contract: `on_long_turn` is told how long the loop answered nobody, without the time that it
//           waited for a processor or for a page of its program, that other threads of the process
//           waited for a processor, that the machine's host gave to others, or that the process was
//           stopped. A turn that others follow within a look may pass unseen, none is told of
//           twice.
// Threads:  one of its own, "loop-watch", which also calls `on_long_turn`.
// Lifetime: the loop, of the machine's driver, outlives it.
// Why:      law 2 lets one loop decide everything: whatever stands on it stops a whole home.
class TurnWatch {
 public:
  // Nanoseconds that the machine's host gave processors to others, all of them together, since the
  // machine started: any part may have been the loop's.
  using Stolen = std::function<std::int64_t()>;
  static std::int64_t stolen_in_all();
  // `where`: what the loop waited for in the kernel when `turn_max` was over, "0" for nothing.
  using OnLongTurn = std::function<void(Duration stood, const std::string& where)>;
  // kUnavailable when the machine has no thread left.
  static Result<std::unique_ptr<TurnWatch>> start(EventLoop& loop, Duration turn_max,
                                                  OnLongTurn on_long_turn,
                                                  Stolen stolen = stolen_in_all);
  ~TurnWatch();
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;

 private:
  struct Look;
  explicit TurnWatch(std::shared_ptr<Look> look);

  std::shared_ptr<Look> look_;
};

}  // namespace runnel::async
