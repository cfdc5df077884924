#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "brain/index.h"
#include "brain/state.h"
#include "brain/turn.h"
#include "sched/request.h"

// A task that takes its node's runner down is found out by trying apart what ran there:
// docs/design/suspects.md.
namespace runnel::brain {

// Crashes in a row while only this task ran with its runner: then it is the task.
inline constexpr std::int32_t kAloneMax = 5;
// The same once another task of its step was found out: they run the same program.
inline constexpr std::int32_t kAloneMaxOfKind = 2;
// A suspect in its turn lets younger work pass for this long.
inline constexpr Duration kApartPatience = Duration::seconds(10);

struct Ran {
  model::AttemptRef attempt;
  Duration age;            // For how long, as far as its node knows.
  bool continues = false;  // Nobody had asked it to end.
};

// Which of the two holds for the step's tasks.
std::int32_t alone_max(const Step& step);

// Whether what ends the runner of the one ends that of the other.
bool share_runner(const State& state, const NodeId& one, const NodeId& other);

// A runner's life ended in a crash while these ran, on all its nodes. If one of them had been there
// before, all are suspects; what another crash was held against is explained by this one.
void judge_crash(Turn& turn, const model::NodeJoin& join, const Incarnation& ended,
                 std::vector<Ran> ran);
// The node's runner crashed while nothing ran on any of its nodes, so no task does it: what was
// lost there is not held against anybody any more.
void clear_unrelated(Turn& turn, const NodeId& node);
// The live attempt of the task ends by itself while its runner lives.
void clear_ended(Turn& turn, const model::TaskRef& task);
// Suspects that ran apart for long enough.
void clear_proven(Turn& turn);

// Lanes that suspects want now, those of the oldest crash first. Each stands before all others in
// the queue, since what it shows is waited for.
std::vector<std::pair<StepKey, sched::Request>> apart_requests(const State& state,
                                                               const Index& index, Time now);
// The suspect of this crash and step that is next, if it may be bound now.
std::optional<TaskIndex> next_suspect(const State& state, const Index& index, const StepKey& key,
                                      std::int64_t crash, Time now);
// When somebody must look at the suspects again; `planned_at` is when a plan last did.
std::optional<Time> suspects_wake(const State& state, const Index& index, Time planned_at);

}  // namespace runnel::brain
