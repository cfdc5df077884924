#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/event_loop.h"
#include "base/result.h"

namespace runnel::async {

// A blocking function on a thread of its own, for what may never return: a file of a dead mount.
//
// Contract: `done` is called on the loop once `function` has returned, unless the call was
//           destroyed before. Then the thread is left alone, so `function` must own what it
//           touches.
// Threads:  the loop's only; `function` runs on its own thread and must not throw.
// Lifetime: the loop outlives the call. `done` may destroy it.
// Why:      a Worker is joined when it stops, and a thread that hangs in the kernel never joins.
class AbandonableCall {
 public:
  // `name` is shown by ps and debuggers; at most 15 bytes.
  static Result<AbandonableCall> start(EventLoop& loop, const std::string& name,
                                       std::function<void()> function, std::function<void()> done);
  AbandonableCall(AbandonableCall&&) = default;
  AbandonableCall& operator=(AbandonableCall&&) = delete;
  ~AbandonableCall();

  // What the function has used of a processor so far, which grows while it gets on, on a slow disk
  // too, and stands still while it hangs. Zero once it has returned.
  std::int64_t processor_nanos() const;

 private:
  struct Shared;
  explicit AbandonableCall(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace runnel::async
