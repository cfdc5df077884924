#pragma once

#include <optional>

#include "base/check.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::control {

// How long a thread that works on the home's disk has owed its next answer.
//
// Contract: silent_for() is the time since the last answer, or since the oldest question when all
//           before it were answered; nothing while no answer is due. A thread that is slow but gets
//           on is never silent for long, however many wait for it.
// Threads:  the loop's only.
// Lifetime: turns end before it does.
class DiskWatch {
 public:
  explicit DiskWatch(const env::Clock& clock) : clock_(clock) {}

  // One question to the thread, from its queueing to its answer.
  class Turn {
   public:
    explicit Turn(DiskWatch& watch) : watch_(watch) {
      if (watch_.turns_++ == 0) watch_.heard_ = watch_.clock_.boot();
    }
    ~Turn() {
      CHECK(watch_.turns_ > 0, "a turn ends that has not begun");
      --watch_.turns_;
      watch_.heard_ = watch_.clock_.boot();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    DiskWatch& watch_;
  };

  std::optional<Duration> silent_for() const {
    if (turns_ == 0) return std::nullopt;
    return clock_.boot() - heard_;
  }

 private:
  const env::Clock& clock_;
  int turns_ = 0;
  Duration heard_;
};

}  // namespace runnel::control
