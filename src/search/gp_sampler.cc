#include "search/gp_sampler.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "search/gaussian_process.h"
#include "search/improvement_search.h"
#include "search/permutation.h"
#include "search/running_trials.h"
#include "search/target_scale.h"
#include "search/trial_memory.h"

namespace runnel::search {
namespace {

constexpr std::size_t kBestMax = 100;
constexpr std::size_t kSampleMax = 100;
constexpr std::size_t kBelieversMax = 32;  // Only the latest running trials count.
constexpr std::size_t kAnchors = 5;
constexpr std::int64_t kGpStartTrials = 10;
constexpr int kFitSteps = 12;
constexpr double kFitAtOnceMax =
    100;  // Trials; with more, a fit is spread over the tells after it.

enum class GpUse : std::uint8_t { kStart, kMemory, kSuggest };

class GpSampler : public Sampler {
 public:
  explicit GpSampler(const SamplerSetup& setup)
      : space_(*setup.space),
        seed_(setup.seed),
        memory_(kBestMax, kSampleMax, key_of(GpUse::kMemory)),
        belief_(prior_belief(space_.size())) {}

  Point suggest(std::int64_t number) override {
    if (memory_.count() < kGpStartTrials || !anything_complete()) {
      return spread_point(space_, key_of(GpUse::kStart), number, kGpStartTrials);
    }
    RandomStream stream(derive(key_of(GpUse::kSuggest), static_cast<std::uint64_t>(number)));
    const GaussianProcess process = with_running();
    double level = process.smoothed(0);
    for (std::size_t index = 1; index < trials().size(); ++index) {
      level = std::min(level, process.smoothed(index));
    }
    return ImprovementSearch(space_, process, level).best(anchors(), stream);
  }

  void asked(std::int64_t number, const Point& point) override {
    running_.add(number, to_units(space_, point));
  }

  void told(std::int64_t number, const Outcome& outcome) override {
    memory_.add({number, grade_of(outcome), running_.take(number)});
    if (!fit_ && memory_.count() >= next_fit_ && anything_complete()) begin_fit();
    if (fit_) go_on_fitting();
  }

 private:
  std::uint64_t key_of(GpUse use) const { return derive(seed_, static_cast<std::uint64_t>(use)); }

  bool anything_complete() const {
    return !memory_.best().empty() && memory_.best().front().grade.kind == Outcome::Kind::kComplete;
  }

  void begin_fit() {
    fit_ = std::make_unique<BeliefFit>(observations(), belief_, kFitSteps);
    const bool capped = memory_.count() >= static_cast<std::int64_t>(kBestMax + kSampleMax);
    next_fit_ = memory_.count() +
                std::max<std::int64_t>(1, capped ? memory_.count() : memory_.count() / 10);
  }

  // As much at a time as a whole fit of kFitAtOnceMax trials costs. The belief before it serves
  // until it is done.
  void go_on_fitting() {
    const double share = kFitAtOnceMax / static_cast<double>(trials().size());
    const int steps = std::max(1, static_cast<int>(kFitSteps * share * share * share));
    bool goes_on = true;
    for (int step = 0; step < steps && goes_on; ++step) goes_on = fit_->step();
    if (goes_on) return;
    belief_ = fit_->belief();
    fit_.reset();
  }

  std::vector<const EndedTrial*> trials() const {
    std::vector<const EndedTrial*> all;
    for (const EndedTrial& trial : memory_.best()) all.push_back(&trial);
    for (const EndedTrial& trial : memory_.others()) all.push_back(&trial);
    return all;
  }

  std::vector<UnitPoint> anchors() const {
    std::vector<UnitPoint> best;
    for (const EndedTrial& trial : memory_.best()) {
      if (best.size() < kAnchors) best.push_back(trial.units);
    }
    return best;
  }

  // The values of complete trials, in order.
  std::vector<double> complete_values() const {
    std::vector<double> values;
    for (const EndedTrial* trial : trials()) {
      if (trial->grade.kind == Outcome::Kind::kComplete) values.push_back(trial->grade.value);
    }
    std::ranges::sort(values);
    return values;
  }

  std::vector<double> values() const {
    const std::vector<double> complete = complete_values();
    const TargetScale scale(complete);
    std::vector<double> values;
    for (const EndedTrial* trial : trials()) {
      double value = trial->grade.value;
      if (trial->grade.kind == Outcome::Kind::kFailed) value = complete.back();
      if (trial->grade.kind == Outcome::Kind::kPruned) {
        value = std::clamp(value, complete[complete.size() / 2], complete.back());
      }
      values.push_back(scale.scaled(value));
    }
    return standardized(std::move(values));
  }

  GpData observations() const {
    GpData data{.coordinates = gp_kinds(space_), .values = values()};
    for (const EndedTrial* trial : trials()) {
      data.points.push_back(gp_coordinates(space_, trial->units));
    }
    return data;
  }

  GaussianProcess with_running() const {
    GpData data = observations();
    GaussianProcess process(data, belief_);
    const std::vector<const UnitPoint*> running = running_.latest(kBelieversMax);
    if (running.empty()) return process;
    for (const UnitPoint* units : running) {
      std::vector<double> at = gp_coordinates(space_, *units);
      data.values.push_back(process.guess(at).mean);
      data.points.push_back(std::move(at));
    }
    return {std::move(data), belief_};
  }

  const Space& space_;
  const std::uint64_t seed_;
  TrialMemory memory_;
  GpBelief belief_;
  std::unique_ptr<BeliefFit> fit_;  // While it goes on.
  std::int64_t next_fit_ = kGpStartTrials;
  RunningTrials running_;
};

}  // namespace

std::unique_ptr<Sampler> make_gp_sampler(const SamplerSetup& setup) {
  return std::make_unique<GpSampler>(setup);
}

}  // namespace runnel::search
