#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "brain/state.h"
#include "model/event.h"
#include "model/input.h"
#include "model/order.h"

namespace runnel::brain {

struct Index;
struct Wait;

// What one input led to.
struct Decision {
  std::vector<model::Event> events;          // Empty: nothing changed, nothing needs to be stored.
  std::vector<Job> archived;                 // What left the state, for whoever keeps the archive.
  std::optional<Error> refusal;              // The asker's answer when the input was refused.
  JobId job;                                 // Submit: the job; of a repeated key the first one's.
  bool repeated = false;                     // Submit: the key was seen before with the same body.
  std::optional<model::AttemptRef> attempt;  // TrialCall: the one it is about; ask: none is left.
};

// The state machine of jobs, steps, tasks, attempts, lanes and nodes.
//
// Contract: decide() is a function of (state, input, now): same three, same events, on every
//           machine, under the same limits. It folds its own events through apply() as it goes, so
//           that each rule sees the outcome of the one before; afterwards state() is exactly what a
//           replay of the events gives. Nothing of a decision may leave the process before its
//           batch is durable; when it cannot be stored, the owner drops this brain and makes a new
//           one from the log. `now` may not go back; a smaller one is taken as state().now.
// Threads:  one at a time; no clock, chance, file, thread or socket inside.
// Lifetime: the index is derived from the state, never stored, and no part of its hash.
class Brain {
 public:
  explicit Brain(State state = {}, Limits limits = {});
  ~Brain();
  Brain(Brain&&) noexcept;
  Brain& operator=(Brain&&) noexcept;

  Decision decide(const model::Input& input, Time now);
  // Replay: folds events without deciding.
  void replay(const std::vector<model::Event>& events, Time now);
  // Tells the searches that go on of their studies, as the first question about each would: what
  // may take half a second of a long study is not left to the thread that decides. A search with
  // which they would have more than `trials_max` trials together, earlier ones that it learns from
  // among them, is passed over and told when it is asked, so that many open studies keep no control
  // from opening. Returns how many were told.
  static constexpr std::size_t kCaughtUpMax = 500;
  std::size_t catch_up_searches(std::size_t trials_max = kCaughtUpMax);

  const State& state() const { return state_; }
  // See index_check.h.
  std::string check_index() const;
  // See explain.h.
  Result<std::vector<Wait>> explain(const JobId& job, Time now) const;
  // When a Wake may change something next, `now` when that moment is over and nobody has looked
  // since; nothing when only other inputs can. A recovering task's back-off, tasks that waited too
  // long behind another on their lane, the first waiting step's patience, a key's expiry.
  std::optional<Time> next_wake(Time now) const;

 private:
  State state_;
  Limits limits_;
  std::unique_ptr<Index> index_;
  // When the last plan was made: most inputs make none, and what became due since is seen by none
  // of those.
  Time planned_at_;
  Time looked_at_;  // The last decision's moment.
};

// Law 3. What should be on a node: every live attempt with its orders, in lane order. A node that
// (re)joins gets all of it; between joins the reconciler sends what a batch's events touched.
struct DesiredAttempt {
  model::AttemptRef attempt;
  std::optional<model::Status> stopping;
};
std::vector<DesiredAttempt> desired(const State& state, const NodeId& node);

// The order that starts this live attempt's ranks on this node; nothing when it is not live or has
// no place there. O(its lane).
std::optional<model::StartOrder> start_order(const State& state, const model::AttemptRef& attempt,
                                             const NodeId& node);
// What to look for in this live attempt on this node; nothing when its step does not say.
std::optional<model::WatchOrder> watch_order(const State& state, const model::AttemptRef& attempt,
                                             const NodeId& node);
// The order that stops an attempt for a durable reason; nothing when its job is not there any more.
// The reason is the caller's: the state may know one that is not durable yet.
std::optional<model::StopOrder> stop_order(const State& state, const model::AttemptRef& attempt,
                                           model::Status because);
// The nodes an attempt has places on (empty when it is not live).
std::vector<NodeId> nodes_of(const State& state, const model::AttemptRef& attempt);

}  // namespace runnel::brain
