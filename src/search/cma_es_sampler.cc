#include "search/cma_es_sampler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "search/choice_chances.h"
#include "search/cma_es.h"
#include "search/grade.h"
#include "search/permutation.h"
#include "search/recombination.h"
#include "search/restarts.h"
#include "search/running_trials.h"
#include "search/unit_point.h"

namespace runnel::search {
namespace {

constexpr double kFirstStep = 0.12;
constexpr double kLeastDeviation = 1e-7;  // Share of an interval; below it a run has converged.
// Share of a cell: with it one sample in twenty leaves the cell of the mean.
constexpr double kMarginOfCell = 0.25;

enum class CmaEsUse : std::uint8_t { kStart, kSample, kRestart };

// A drawn sample: a coordinate per axis as the distribution made it, before rounding.
struct Ranked {
  Grade grade;
  std::int64_t number = 0;
  UnitPoint units;
};

// Into [0, 1], as if its ends were mirrors.
double mirrored(double value) {
  const double lap = std::abs(std::fmod(value, 2.0));
  return lap <= 1 ? lap : 2 - lap;
}

bool same_point(const Point& a, const Point& b) {
  return std::ranges::equal(
      a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

class CmaEsSampler : public Sampler {
 public:
  explicit CmaEsSampler(const SamplerSetup& setup)
      : space_(*setup.space), seed_(setup.seed), restarts_(default_population()), chances_(space_) {
    for (std::size_t axis = 0; axis < space_.size(); ++axis) {
      if (space_.axes()[axis].kind != Axis::Kind::kCategorical) numbers_.push_back(axis);
    }
  }

  Point suggest(std::int64_t number) override { return from_units(space_, drawn(number)); }

  void asked(std::int64_t number, const Point& point) override {
    // What was rounded away still tells the distribution where its sample came from.
    UnitPoint units = drawn(number);
    if (!same_point(from_units(space_, units), point)) units = to_units(space_, point);
    running_.add(number, std::move(units));
  }

  void told(std::int64_t number, const Outcome& outcome) override {
    generation_.push_back({grade_of(outcome), number, running_.take(number)});
    const std::size_t full = run_ ? run_->population() : restarts_.population();
    if (generation_.size() < full) return;
    std::ranges::sort(generation_, {},
                      [](const Ranked& r) { return std::pair(r.grade, r.number); });
    if (run_) {
      learn();
    } else {
      begin(middle_of_better_half());
    }
    generation_.clear();
  }

 private:
  std::size_t default_population() const {
    return 4 + static_cast<std::size_t>(
                   3 * std::log(static_cast<double>(std::max<std::size_t>(space_.size(), 1))));
  }
  std::uint64_t key_of(CmaEsUse use) const {
    return derive(seed_, static_cast<std::uint64_t>(use));
  }

  UnitPoint drawn(std::int64_t number) const {
    if (!run_) {
      const auto count = static_cast<std::int64_t>(restarts_.population());
      return to_units(space_, spread_point(space_, key_of(CmaEsUse::kStart), number, count));
    }
    RandomStream stream(derive(key_of(CmaEsUse::kSample), static_cast<std::uint64_t>(number)));
    UnitPoint units = chances_.draw(stream);
    const std::vector<double> mean = run_->mean();
    const std::vector<double> sample = run_->sample(stream);
    for (std::size_t at = 0; at < numbers_.size(); ++at) {
      const double moved = sample[at] - mean[at];
      units[numbers_[at]] = mirrored(mean[at] + moved * widening(at));
    }
    return units;
  }

  // The factor that brings the deviation of a counted axis up to its margin.
  double widening(std::size_t at) const {
    const double cells = space_.cells(numbers_[at]);
    if (cells == 0) return 1;
    return std::max(1.0, kMarginOfCell / cells / run_->deviation(at));
  }

  std::vector<double> numbers_of(const UnitPoint& units) const {
    std::vector<double> values;
    for (std::size_t at = 0; at < numbers_.size(); ++at) {
      const double value = units[numbers_[at]];
      values.push_back(!std::isnan(value) ? value : run_ ? run_->mean()[at] : 0.5);
    }
    return values;
  }

  // Weighted as the distribution weighs a generation.
  std::vector<double> middle_of_better_half() const {
    const Recombination constants(space_.size(), generation_.size());
    std::vector<double> middle(numbers_.size(), 0.0);
    for (std::size_t rank = 0; constants.weights[rank] > 0; ++rank) {
      const std::vector<double> values = numbers_of(generation_[rank].units);
      for (std::size_t at = 0; at < values.size(); ++at) {
        middle[at] += constants.weights[rank] * values[at];
      }
    }
    return middle;
  }

  void begin(std::vector<double> mean) {
    run_.emplace(
        CmaEs::Start{std::move(mean), kFirstStep * restarts_.step(), restarts_.population()});
  }

  void learn() {
    std::vector<std::vector<double>> ranked;
    ranked.reserve(generation_.size());
    for (const Ranked& trial : generation_) ranked.push_back(numbers_of(trial.units));
    const Recombination constants(space_.size(), generation_.size());
    for (std::size_t rank = 0; constants.weights[rank] > 0; ++rank) {
      chances_.favour(generation_[rank].units, constants.weights[rank]);
    }
    run_->update(ranked);
    samples_ += static_cast<std::int64_t>(ranked.size());
    const bool level = generation_.front().grade == generation_.back().grade;
    if (level || run_->converged(kLeastDeviation)) restart();
  }

  void restart() {
    RandomStream stream(derive(key_of(CmaEsUse::kRestart), restarts_.count()));
    restarts_.next(samples_, stream);
    samples_ = 0;
    chances_ = ChoiceChances(space_);
    run_.reset();
    begin(numbers_of(to_units(space_, random_point(space_, stream))));
  }

  const Space& space_;
  const std::uint64_t seed_;
  std::vector<std::size_t> numbers_;  // The axes that are no choices.
  Restarts restarts_;
  ChoiceChances chances_;
  std::optional<CmaEs> run_;  // None until the first trials have shown where to begin.
  std::int64_t samples_ = 0;  // In this run.
  std::vector<Ranked> generation_;
  RunningTrials running_;
};

}  // namespace

std::unique_ptr<Sampler> make_cma_es_sampler(const SamplerSetup& setup) {
  return std::make_unique<CmaEsSampler>(setup);
}

}  // namespace runnel::search
