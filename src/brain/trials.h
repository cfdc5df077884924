#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "brain/outcome.h"
#include "brain/turn.h"
#include "model/report.h"

// The rules of searches: docs/design/search.md.
namespace runnel::brain {

// The parameters of a task that is bound: those it has, or the search's next suggestion.
std::vector<std::pair<std::string, std::string>> params_of(Turn& turn, const StepKey& key,
                                                           TaskIndex index);

// What a node heard trials report. Others than those of live trials are passed over.
void take_metrics(Turn& turn, const NodeId& node, const std::vector<model::MetricReport>& reports);

// Whether a report is the last one of its attempt.
enum class Last : std::uint8_t { kNo, kYes };

// What a live attempt of a trial reported: kept when a pruner judges it, or when it is the last.
void take_values(Turn& turn, const model::AttemptRef& attempt, TrialReport report, Last last);

// Stops or parks the trials whose reports of this turn were judged so, unless they ended in it.
void obey_verdicts(Turn& turn);

// The reason of an attempt that was asked to pause when it had reported the last step.
inline constexpr std::string_view kUnfinished = "Unfinished";

// A trial whose program succeeded without a value has failed all the same, and one that was asked
// to pause after its last step goes on: what it leaves may be half saved.
void judge_result(Turn& turn, const model::AttemptRef& attempt, Outcome& outcome);

// The task came to its end: tells the search.
void tell_trial(Turn& turn, const model::TaskRef& task);

// Queues the parked trials that should go on before new ones.
void promote_trials(Turn& turn, const StepKey& key);

// Promotes what should go on, and ends a search that has nothing more to ask for.
void steer_search(Turn& turn, const StepKey& key);

}  // namespace runnel::brain
