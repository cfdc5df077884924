#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "brain/study.h"
#include "model/spec.h"
#include "search/population.h"
#include "search/pruner.h"
#include "search/sampler.h"
#include "search/space.h"

namespace runnel::brain {

// The sampler and the pruner of one study, told of it so far.
//
// Contract: derived from the specification and the study alone: made at any time and told the
//           study's history, it answers as one that followed it from the start. catch_up() comes
//           before any question.
// Lifetime: shares the specification.
class Searcher {
 public:
  Searcher(std::shared_ptr<const model::JobSpec> job, StepIndex step);

  // Tells what the study's history has more than at the last time.
  void catch_up(const Study& study);

  // The parameters of the next trial: the user's first, then the sampler's.
  search::Texts suggest(const Study& study);
  // From which step on a trial's next report is judged; nothing when none will be. A step that was
  // passed once is not judged again, whichever attempt does it again.
  std::optional<std::int64_t> next_judged(std::int64_t trial) const;
  // The verdict on the trial's last report.
  search::Verdict verdict(std::int64_t trial) const;
  // Whether the trials are a population, and where the trial should go on by its last report.
  bool is_population() const { return population_.has_value(); }
  struct Move {
    std::int64_t donor = 0;
    search::Texts params;
  };
  std::optional<Move> move(std::int64_t trial) const;
  // A parked trial that should go on. Of a population: brain/population.h.
  std::optional<std::int64_t> promotable() const;
  // The parked trial that is furthest, whether it should go on or not.
  std::optional<std::int64_t> leader() const;

 private:
  void tell_earlier();
  void tell_asked(const Trial& trial, std::int64_t number);
  void tell_reported(const Trial& trial, std::int64_t number);
  void tell_promoted(std::int64_t number);
  void tell_moved(const Trial& trial, std::int64_t number);
  void tell_told(const Trial& trial, std::int64_t number);
  void judge(const TrialReport& report, std::int64_t number);

  std::shared_ptr<const model::JobSpec> job_;
  const model::StepSpec& spec_;
  search::Space space_;
  std::unique_ptr<search::Sampler> sampler_;
  std::unique_ptr<search::Pruner> pruner_;
  std::optional<search::Population> population_;      // In place of a pruner.
  std::int64_t earlier_ = 0;                          // Trials of other studies, told first.
  std::size_t told_ = 0;                              // Moments of the history.
  std::map<std::int64_t, std::size_t> reports_seen_;  // By trial that goes on.
  std::map<std::int64_t, std::int64_t> furthest_;     // The last step, since the last move.
  std::map<std::int64_t, std::size_t> moves_seen_;
  std::map<std::int64_t, search::Verdict> verdicts_;
  std::map<std::int64_t, search::Exploit> exploits_;
};

// A reported value as searches compare them: smaller is better; nothing when it is no finite
// number.
std::optional<double> comparable_value(const model::Objective& objective, const std::string& text);

// The values of a report as comparable_value() gives them, one per objective; empty when one is
// none.
std::vector<double> values_of(const model::SearchSpec& search, const TrialReport& report);

}  // namespace runnel::brain
