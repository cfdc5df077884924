// What early stopping is worth: how good the best trial is for the steps that were spent.
//
//   pruning_bench                 a row for each rule; bench/pruning.py adds those of others
//   pruning_bench curves STUDY    the learning curves of a study, a line for each trial
//   pruning_bench cost            nanoseconds a report with up to 100,000 trials
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "search/permutation.h"
#include "search/pruner.h"

namespace {

using namespace runnel;          // NOLINT: a bench is a leaf.
using namespace runnel::search;  // NOLINT
using model::PrunerSpec;

constexpr std::uint64_t kStudies = 40;
constexpr std::int64_t kTrials = 256;
constexpr std::int64_t kSteps = 64;     // Steps of a whole trial.
constexpr std::int64_t kBudget = 2048;  // Steps of a study: 32 whole trials.
constexpr std::array kMarks = {256, 512, 1024, 2048};
constexpr std::size_t kWorkers = 8;

double unit(std::uint64_t key, std::uint64_t number) {
  return static_cast<double>(derive(key, number) >> 11) * 0x1p-53;
}

using Curve = std::vector<double>;

// A loss that falls as a power of the step to where the trial ends. Slow and fast ones cross, and
// each step has noise.
Curve curve_of(std::uint64_t study, std::uint64_t trial) {
  const std::uint64_t key = derive(derive(7, study), trial);
  const double end = 0.05 + 0.6 * unit(key, 0);
  const double height = 0.3 + 0.5 * unit(key, 1);
  const double speed = 0.3 + 0.9 * unit(key, 2);
  Curve curve;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const auto at = static_cast<double>(step);
    const double noise = 0.04 * (unit(key, static_cast<std::uint64_t>(step) + 2) - 0.5);
    curve.push_back(end + height * std::pow(at, -speed) + noise);
  }
  return curve;
}

std::vector<Curve> curves_of(std::uint64_t study) {
  std::vector<Curve> curves;
  curves.reserve(kTrials);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) curves.push_back(curve_of(study, trial));
  return curves;
}

double best_of(const std::vector<Curve>& curves) {
  double best = curves[0][0];
  for (const Curve& curve : curves) best = std::min(best, *std::ranges::min_element(curve));
  return best;
}

// A few workers in step: each runs its trial one step further, or takes the next one.
class Study {
 public:
  Study(const std::vector<Curve>& curves, Pruner* pruner) : curves_(curves), pruner_(pruner) {
    steps_.resize(curves.size(), 0);
  }

  // The regret after each step that was spent.
  std::vector<double> run() {
    std::vector<std::optional<std::int64_t>> workers(kWorkers);
    bool busy = true;
    while (busy && regrets_.size() < kBudget) {
      busy = false;
      for (auto& trial : workers) {
        if (!trial) trial = next();
        if (!trial) continue;
        busy = true;
        if (!continues(*trial)) trial.reset();
      }
    }
    regrets_.resize(kBudget, regrets_.back());
    return regrets_;
  }

 private:
  std::optional<std::int64_t> next() {
    const auto waiting = pruner_ != nullptr ? pruner_->promotable() : std::nullopt;
    if (waiting) pruner_->promoted(*waiting);
    if (waiting || next_ == kTrials) return waiting;
    return next_++;
  }

  bool continues(std::int64_t trial) {
    const auto index = static_cast<std::size_t>(trial);
    const std::int64_t step = ++steps_[index];
    const double value = curves_[index][static_cast<std::size_t>(step) - 1];
    best_ = std::min(best_, value);
    regrets_.push_back(best_ - best_of_all_);
    Verdict verdict = Verdict::kGoOn;
    if (pruner_ != nullptr && pruner_->next_step(trial, step - 1) == step) {
      verdict = pruner_->reported(trial, step, value);
    }
    const bool ends = verdict == Verdict::kStop || step == kSteps;
    if (ends && pruner_ != nullptr) pruner_->ended(trial);
    return !ends && verdict == Verdict::kGoOn;
  }

  const std::vector<Curve>& curves_;
  Pruner* pruner_;
  double best_of_all_ = best_of(curves_);
  double best_ = 1e9;
  std::int64_t next_ = 0;
  std::vector<std::int64_t> steps_;
  std::vector<double> regrets_;
};

struct Rule {
  const char* name;
  std::optional<PrunerSpec::Kind> kind;
  bool can_pause = false;
};

constexpr std::array kRules = {
    Rule{"none", std::nullopt},
    Rule{"ASHA, promotion", PrunerSpec::Kind::kAsha, true},
    Rule{"ASHA, stopping", PrunerSpec::Kind::kAsha},
    Rule{"Hyperband, promotion", PrunerSpec::Kind::kHyperband, true},
    Rule{"Hyperband, stopping", PrunerSpec::Kind::kHyperband},
    Rule{"median", PrunerSpec::Kind::kMedian},
};

std::vector<double> mean_regrets(const Rule& rule) {
  std::vector<double> mean(kBudget, 0);
  for (std::uint64_t study = 0; study < kStudies; ++study) {
    const auto curves = curves_of(study);
    std::unique_ptr<Pruner> pruner;
    if (rule.kind) pruner = make_pruner({.kind = *rule.kind, .max_step = kSteps}, rule.can_pause);
    const auto regrets = Study(curves, pruner.get()).run();
    for (std::size_t spent = 0; spent < mean.size(); ++spent)
      mean[spent] += regrets[spent] / kStudies;
  }
  return mean;
}

void compare() {
  for (const Rule& rule : kRules) {
    const auto regrets = mean_regrets(rule);
    std::printf("%-34s", rule.name);
    for (const int mark : kMarks)
      std::printf(" %9.4f", regrets[static_cast<std::size_t>(mark) - 1]);
    std::printf(" %9.4f\n", std::accumulate(regrets.begin(), regrets.end(), 0.0) / kBudget);
  }
}

void print_curves(std::uint64_t study) {
  for (const Curve& curve : curves_of(study)) {
    for (const double value : curve) std::printf("%.17g ", value);
    std::printf("\n");
  }
}

// Every trial reports once, and the best of those that wait are promoted.
void cost() {
  for (const Rule& rule : kRules) {
    if (!rule.kind) continue;
    for (const std::int64_t trials : {1'000, 10'000, 100'000}) {
      const auto pruner = make_pruner({.kind = *rule.kind, .max_step = 4'096}, rule.can_pause);
      const auto begin = std::chrono::steady_clock::now();
      for (std::int64_t trial = 0; trial < trials; ++trial) {
        (void)pruner->reported(trial, 1, unit(3, static_cast<std::uint64_t>(trial)));
        if (const auto waiting = pruner->promotable()) pruner->promoted(*waiting);
      }
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      std::printf("%-34s %7lld trials %6.0f ns a report\n", rule.name,
                  static_cast<long long>(trials), took.count() / static_cast<double>(trials));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "curves" && argc > 2) {
    print_curves(std::strtoull(argv[2], nullptr, 10));
  } else if (what == "cost") {
    cost();
  } else {
    compare();
  }
  return 0;
}
