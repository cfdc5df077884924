#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/abandonable_call.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/check.h"
#include "base/units.h"

namespace runnel::home {

// Looks at something of the home's disk again and again, on a thread of its own, since the disk may
// hang.
//
// Contract: after each `every` a look begins, unless the last has not returned: `prepare` is called
//           on the loop and gives the function that looks, and `take` gets what that one found. The
//           function must own what it touches.
// Threads:  the loop's only; the look has its own.
// Lifetime: run() in a gate that is closed before destruction. `take` may not destroy it.
template <class Look>
class PeriodicLook {
 public:
  using Prepare = std::function<std::function<Look()>()>;
  using Take = std::function<void(Look)>;

  // `name` is that of the thread; at most 15 bytes.
  PeriodicLook(async::EventLoop& loop, std::string name, Duration every, Prepare prepare, Take take)
      : loop_(loop),
        name_(std::move(name)),
        every_(every),
        prepare_(std::move(prepare)),
        take_(std::move(take)) {
    CHECK(prepare_ != nullptr && take_ != nullptr, "a look that nobody makes, or takes");
    CHECK(every_ > Duration(), "a look without a pause");
  }

  Async<void> run(async::StopToken stop) {
    for (;;) {
      CO_TRY(co_await loop_.sleep(every_, stop));
      if (!call_) begin();
    }
  }

 private:
  void begin() {
    auto found = std::make_shared<std::optional<Look>>();
    const auto look = [found, function = prepare_()] { found->emplace(function()); };
    const auto done = [this, found] {
      call_.reset();
      take_(**std::move(found));
    };
    Result<async::AbandonableCall> call = async::AbandonableCall::start(loop_, name_, look, done);
    if (call.ok()) call_.emplace(std::move(*call));  // No thread is free: the next look asks again.
  }

  async::EventLoop& loop_;
  const std::string name_;
  const Duration every_;
  const Prepare prepare_;
  const Take take_;
  std::optional<async::AbandonableCall> call_;  // While it is looked at.
};

}  // namespace runnel::home
