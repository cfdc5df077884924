#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "agent/preparer.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "env/clock.h"
#include "runner/message.h"

namespace runnel::agent {

// Ends of ranks that are told once what they wrote is in its store (Preparer::finish()).
//
// Contract: a rank whose end is held runs, for all that anybody is told. An end is held for as long
//           as it takes where the rank ended well and nobody ended it since, and for its attempt's
//           grace otherwise. One that ended well and could not be finished has failed, was stopped
//           or took longer than it may.
// Threads:  the loop's only.
// Lifetime: the gate is closed before destruction; what is held then is found again by the next
//           life of the agent.
// Why:      a task is done when its writes are. docs/design/job_writes.md.
class HeldEnds {
 public:
  struct Host {
    // Whether ends of the node are told at all; else they are not held either.
    std::function<bool(const NodeId&)> is_ours;
    std::function<void(const runner::RankFact&)> held;  // Called once of each.
    std::function<void(runner::RankFact)> tell;         // Called once it is finished.
  };
  HeldEnds(async::EventLoop& loop, env::Clock& clock, Preparer& preparer, async::Gate& gate,
           Host host);

  // Ends in news that are held from now on stand there as ranks that run; those that are held
  // already are taken out.
  void take_from(std::vector<runner::RankFact>& news);
  // The same of an inventory, where they stand as ranks that run; one that was held before is there
  // as it was told.
  void replace_in(std::vector<runner::RankFact>& inventory);
  // The attempt is to end, also where its rank has ended and nobody has heard of that yet.
  void stop(const runner::AttemptOnNode& of, Duration grace);
  // Nobody asks for the attempt's ends any more.
  void forget(const runner::AttemptOnNode& of);

 private:
  struct End {
    End(async::EventLoop& loop, runner::RankFact of) : fact(std::move(of)), patience(loop) {}

    runner::RankFact fact;
    async::Timer patience;
    Duration until;  // When that is over, since boot; zero: never.
    async::StopSource give_up;
    bool is_finished = false;
  };
  using EndPtr = std::shared_ptr<End>;
  using Key = std::pair<runner::AttemptOnNode, std::int32_t>;

  // Null: it need not be held.
  EndPtr hold(const runner::RankFact& fact);
  void limit(const EndPtr& end, Duration patience, model::EndCause then);
  Async<void> finish(EndPtr end);
  void conclude(const EndPtr& end);

  async::EventLoop& loop_;
  env::Clock& clock_;
  Preparer& preparer_;
  async::Gate& gate_;
  const Host host_;
  std::map<Key, EndPtr> ends_;
  std::map<runner::AttemptOnNode, Duration> stops_;  // By when they are to have ended, since boot.
};

}  // namespace runnel::agent
