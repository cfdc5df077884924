#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "model/event.h"
#include "model/spec.h"
#include "sim/truth.h"

namespace runnel::sim {

// What searches promise, told once more and in other words than the brain's.
//
// Contract: on() answers with what is broken, or nothing. Every trial is asked for once, in order
//           and within max_trials, the first ones where the user said; it is told at most once,
//           unless a user reopened it; `best` is the best of those that ended whole, or else of
//           those that came furthest; only trials that can be paused are parked; a member of a
//           population goes on from one that has reported and not ended, and counts for what it
//           reported since; a trial that reported the last step goes on when it was asked to
//           pause; steps grow within an attempt.
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
  // A user halted the job, or its search was given up: its trials may stay as they are.
  void interrupted(const JobId& job) { interrupted_.insert(job); }

 private:
  using Step = std::pair<JobId, StepIndex>;
  std::map<Step, std::int64_t> asked_;
  struct Last {
    AttemptNumber attempt;
    std::int64_t at = 0;
    std::vector<std::string> values;
  };
  std::map<model::TaskRef, Last> last_;
  std::set<model::TaskRef> reported_;  // At least once.
  std::set<model::TaskRef> told_;
  std::set<model::TaskRef> parked_;
  std::set<JobId> interrupted_;
  // Stopped early, steps not reached, values: the least is the best.
  using Result = std::tuple<bool, std::int64_t, std::vector<double>>;
  static Result result_of(const model::SearchSpec& search, const Last& last, model::TrialEnd end);
  std::map<Step, std::map<TaskIndex, Result>> results_;
};

// At the end: what a trial came to is what the attempt that ended it said last, where that one said
// anything.
std::string check_results(const Truth& truth, const std::vector<model::Event>& log);

}  // namespace runnel::sim
