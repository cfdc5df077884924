#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "brain/searcher.h"
#include "brain/state.h"
#include "sched/cluster.h"
#include "sched/lane_ends.h"
#include "sched/request.h"

namespace runnel::brain {

// One step of one job: the key of what follows.
struct StepKey {
  JobId job;
  StepIndex step;
  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};

// How long a task bound behind another may wait on its lane without progress before it is
// withdrawn.
inline constexpr Duration kAheadPatience = Duration::millis(300);

// What decisions look up, derived from the state so that no input costs a walk over all jobs.
//
// Contract: follow() is called after each apply() with the same event; build() makes the same index
//           from a state alone. Nothing in here is stored or hashed, and nothing depends on when it
//           was built: what depends on time (which back-offs are over) is computed from `now` when
//           asked.
struct Index {
  static Index build(const State& state);
  void follow(const State& state, const model::Event& event);

  // Looks at a step again: does it want lanes, which of its tasks wait?
  void refresh(const State& state, const JobId& job, StepIndex step);

  // The search of a step that has one, told of everything in the state. Made when first asked for,
  // or by make_searchers().
  Searcher& searcher(const State& state, const StepKey& key);
  // Makes those of the jobs that run, in their order, and passes over each with which they would
  // have more than `trials_max` trials together. Returns how many.
  std::size_t make_searchers(const State& state, std::size_t trials_max);

  // The nodes that take work and what is free there, and every node ever seen with nothing on it,
  // also those that are down now: they may come back.
  sched::Cluster cluster;
  sched::Cluster known;
  // What open lanes hold, by when they will have ended.
  sched::LaneEnds ends;
  // Steps that may bind tasks now, in queue order.
  std::map<sched::QueueKey, StepKey> ready;
  // Tasks with a history that may be bound now or later: (not_before, task), per step.
  std::map<StepKey, std::set<std::pair<Time, TaskIndex>>> again;
  // Suspects of a crash that wait or run, in their turn; those that wait are not in `again`.
  std::map<std::int64_t, std::set<std::pair<std::int32_t, model::TaskRef>>> suspects;
  // Steps with suspects that wait, and how many.
  std::map<StepKey, std::int64_t> apart;
  std::set<std::tuple<Time, StepKey, TaskIndex>> backoffs;
  std::map<NodeId, std::set<LaneId>> lanes_on;
  // The devices that open lanes hold.
  std::map<NodeId, model::Devices> devices;
  // Lanes with tasks behind the first one, by when these have waited long enough.
  std::set<std::pair<Time, LaneId>> congested;
  std::set<std::pair<Time, KeyName>> keys;
  // Nodes that will be taken away, by when.
  std::set<std::pair<Time, NodeId>> leaving;
  // Nodes with devices that are back, by when the next of these is granted again.
  std::set<std::pair<Time, NodeId>> returning;
  // Searches that have more to ask for, by when they must stop asking.
  std::set<std::pair<Time, StepKey>> deadlines;
  // Lanes that somebody outside holds, by when these have been silent for too long.
  std::set<std::pair<Time, LaneId>> leases;
  // The lanes of `leases` whose attempt was asked to end: nobody else will end it.
  std::set<LaneId> released;

 private:
  void open(const State& state, const Lane& lane);
  void close(const State& state, LaneId lane);
  void settle_node(const State& state, const NodeId& node);
  void settle_host(const State& state, const NodeId& node);
  // The number that what is on the node has, as sched::shared_number says.
  std::int64_t apart_on(const NodeId& node) const;
  void settle_quarantine(const State& state, const NodeId& node);
  void settle_lane(const State& state, const Lane& lane);
  // Its queue begins anew, or loses tasks, or the lane is gone.
  void settle_queue(const State& state, LaneId lane);
  void expect_end(const State& state, LaneId lane);
  void forget_end(LaneId lane);
  void crowd(const State& state, LaneId lane);
  void lease(const State& state, LaneId lane);
  void keep_key(const KeyName& key, Time at);
  void drop_key(const KeyName& key);
  void refresh_task(const State& state, const model::TaskRef& task);
  void refresh_job(const State& state, const JobId& job);
  void refresh_steps(const State& state, const JobId& job);
  void refresh_tasks(const State& state, const JobId& job, StepIndex step);
  void refresh_deadline(const State& state, const StepKey& key);
  void drop_searchers(const Job& job);
  void refresh_attempt(const State& state, const model::AttemptRef& attempt, LaneId lane);

  // What an open lane holds: the state has dropped a lane when its closing is followed.
  struct Held {
    StepKey step;
    std::map<NodeId, model::Resources> amounts;
    std::map<NodeId, model::Devices> devices;
    std::int64_t apart = 0;
    std::optional<Time> ends_by;
  };
  std::map<LaneId, Held> held_;
  // What the open lanes of a node hold together: a wide job opens thousands on one.
  struct InUse {
    model::Resources amount;
    std::map<std::int64_t, std::int64_t> apart;  // Lanes, by the crash that they were opened for.
  };
  std::map<NodeId, InUse> in_use_;
  std::map<KeyName, Time> keyed_at_;
  std::map<LaneId, Time> congested_at_;
  std::map<LaneId, Time> leased_until_;
  std::map<StepKey, sched::QueueKey> ready_at_;
  std::map<StepKey, Time> deadline_at_;
  std::map<NodeId, Time> leaving_at_;
  std::map<NodeId, Time> returning_at_;
  std::map<StepKey, Searcher> searchers_;
  struct Noted {
    Time not_before;
    bool waits = false;
    std::optional<Suspicion> suspicion;
  };
  void note(const model::TaskRef& task, const Task& kept);
  void settle_apart(const State& state, std::int64_t crash);
  void strike(const model::TaskRef& task, const Noted& noted);
  std::map<model::TaskRef, Noted> noted_;
};

sched::QueueKey queue_key(const Job& job, StepIndex step);
// Whether the step's dependencies are met and it is neither ended nor held.
bool may_run(const Job& job, StepIndex step);
// Tasks that were never attempted and wait.
std::int64_t fresh_tasks(const Step& step);

}  // namespace runnel::brain
