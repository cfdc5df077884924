#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "model/event.h"
#include "model/spec.h"

namespace runnel::sim {

// What searches promise, told once more and in other words than the brain's.
//
// Contract: on() answers with what is broken, or nothing. Every trial is asked for once, in order
// and
//           within max_trials; it is told at most once, unless a user reopened it; `best` is
//           the best of those that ended whole, or else of those that came furthest; only trials
//           that can be paused are parked; a member of a population goes on from one that has
//           reported and not ended, and counts for what it reported since; a trial that reported
//           the last step has not been stopped early.
class TrialCheck {
 public:
  std::string on(const model::TrialAsked& event, const model::StepSpec& spec);
  std::string on(const model::TrialReported& event, const model::StepSpec& spec);
  std::string on(const model::TrialParked& event, const model::StepSpec& spec);
  std::string on(const model::TrialPromoted& event);
  std::string on(const model::TrialMoved& event, const model::StepSpec& spec);
  std::string on(const model::TrialTold& event, const model::StepSpec& spec);
  std::string on(const model::AttemptEnded& event, const model::StepSpec& spec) const;
  // A user's retry: these may come to another end.
  void reopen(const model::TaskRef& task);

 private:
  using Step = std::pair<JobId, StepIndex>;
  std::map<Step, std::int64_t> asked_;
  std::map<model::TaskRef, std::pair<std::int64_t, std::string>> last_;  // Step and value.
  std::set<model::TaskRef> reported_;                                    // At least once.
  std::set<model::TaskRef> told_;
  std::set<model::TaskRef> parked_;
  // Stopped early, steps not reached, value: the least is the best.
  std::map<Step, std::map<TaskIndex, std::tuple<bool, std::int64_t, double>>> results_;
};

}  // namespace runnel::sim
