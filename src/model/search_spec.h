#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "model/limits.h"

namespace runnel::model {

// A metric that a search makes small or large, by its name as trials report it.
struct Objective {
  std::string metric;
  bool maximize = false;
  friend bool operator==(const Objective&, const Objective&) = default;
};

// When a trial that does badly ends before its time. Steps are those of its reports.
struct PrunerSpec {
  enum class Kind : std::uint8_t {
    kAsha,       // Rungs at min_step * eta^k; the best 1/eta of a rung go on.
    kHyperband,  // Several ASHA brackets that begin at different rungs. Needs max_step.
    kMedian,     // Worse than the median of what earlier trials had reached at the same step.
  };
  Kind kind = Kind::kAsha;
  std::int64_t min_step = 1;        // The first step that is judged.
  std::int64_t max_step = 0;        // A whole trial's last; 0: not known, rungs go on for ever.
  std::int32_t eta = 4;             // kAsha, kHyperband: one in eta goes on. 2 to 16.
  std::int64_t every = 1;           // kMedian: steps between two judgements.
  std::int32_t startup_trials = 5;  // kMedian: trials that end before any is judged.
  friend bool operator==(const PrunerSpec&, const PrunerSpec&) = default;
};

// Population-based training: at every `every` steps the worst part of the population goes on from
// the checkpoint of one of the best, with parameters near to it. max_trials is its size.
struct PopulationSpec {
  std::int64_t every = 1;
  std::int64_t max_step = 0;  // A whole member's last: nobody moves from there on; 0: not known.
  std::int32_t quantile_percent = 25;  // The share of the population at each end. 1 to 50.
  std::int32_t resample_percent = 25;  // Chance of a parameter to be drawn anew.
  friend bool operator==(const PopulationSpec&, const PopulationSpec&) = default;
};

// A trial of an earlier study that ended whole.
struct EarlierTrial {
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::string> values;  // One per objective, decimal text.
  friend bool operator==(const EarlierTrial&, const EarlierTrial&) = default;
};

// The `search` of a step: its tasks are trials of an adaptive search over its parameters.
struct SearchSpec {
  enum class Method : std::uint8_t {
    kAuto,  // By space, objectives and budget.
    kGrid,
    kRandom,
    kTpe,
    kCmaEs,
    kGp,
    kNsga2,  // Several objectives.
    kPbt,
  };
  Method method = Method::kAuto;
  std::vector<Objective> objectives;  // At least one; more than one: a Pareto front.
  std::int64_t max_trials = 0;        // At least 1.
  Duration max_duration;              // Since the first trial was asked for; zero: no limit.
  Money budget;                       // Zero: no limit.
  // With more failed trials the search is given up; unset: when the first ones all fail alike.
  std::optional<std::int64_t> max_failures;
  std::optional<PrunerSpec> pruner;
  std::optional<PopulationSpec> population;  // With kPbt only.
  // Tried first, in this order; a parameter that is left out is suggested.
  std::vector<std::vector<std::pair<std::string, std::string>>> start;
  // Trials that samplers learn from before the first one here. Those that do not fit the parameters
  // are passed over.
  std::vector<EarlierTrial> from;
  friend bool operator==(const SearchSpec&, const SearchSpec&) = default;
};

inline constexpr Limits kEtaLimits = {2, 16};
inline constexpr Limits kQuantileLimits = {1, 50};
inline constexpr Limits kResampleLimits = {0, 100};
inline constexpr std::size_t kObjectivesMax = 8;
inline constexpr std::size_t kStartPointsMax = 1'000;
inline constexpr std::size_t kEarlierTrialsMax = 10'000;
inline constexpr std::int64_t kPopulationMax = 1'000;  // Members: each judgement looks at all.

}  // namespace runnel::model
