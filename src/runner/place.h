#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "output/job_output.h"
#include "runner/folders.h"
#include "runner/memory_limit.h"
#include "runner/message.h"

namespace runnel::runner {

// One rank of a place that is queued or runs.
struct RankRun {
  enum class Phase : std::uint8_t {
    kWaiting,  // No process yet.
    kRunning,
    kLeaving,   // Its process ended, being told to; the rest of its tree has the grace to.
    kDraining,  // Its process ended; something of its tree still lives, and is killed.
    kEnded,
  };
  Phase phase = Phase::kWaiting;
  RankFact fact;
  pid_t pid = 0;     // Leader of its own process group.
  Duration started;  // Boot clock.
  bool group_is_gone = false;
  Duration drain_look;   // The next look whether it has drained ...
  Duration drain_until;  // ... and, when it is killed, when we give up on that.
  bool has_output = false;
  output::RankOutput output;
  std::uint64_t news_turn = 0;  // The turn of its latest news, if they still wait to be sent.
  std::size_t news_at = 0;

  // Its processes may go on.
  bool lives() const { return phase == Phase::kRunning || phase == Phase::kLeaving; }
  // Its own process has ended, and it ends with the last of the others.
  bool leader_gone() const { return phase == Phase::kLeaving || phase == Phase::kDraining; }
};

// The ranks of one attempt on one node: they start together, share a task folder and a memory
// limit.
struct Place {
  std::uint64_t number = 0;  // Unique in the life of a runner.
  PlaceStart start;
  std::vector<RankRun> ranks;
  std::uint32_t slot = 0;
  TaskFolder folder;
  std::optional<MemoryGroup> memory_group;
  bool prepared = false;                  // Has slot, folder and output.
  bool watched = false;                   // Its memory is watched.
  bool unusable = false;                  // Something of it could not be killed.
  std::optional<model::EndCause> forced;  // We end it, and why.
  std::string forced_message;
  // Boot clock; zero: none.
  Duration timeout_at;
  Duration kill_at;
  Duration retry_at;
  Duration retry_until;
  Duration scheduled;  // Its place among the deadlines.

  // We end it, and what it started still has time to end by itself.
  bool in_grace() const { return !kill_at.is_zero(); }
  AttemptOnNode of() const { return {start.node, start.attempt}; }
  bool over() const;
  bool draining() const;
  // The nearest of all that wait for a time; zero: none.
  Duration deadline() const;
};

}  // namespace runnel::runner
