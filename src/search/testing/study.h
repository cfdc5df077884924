#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "search/sampler.h"

namespace runnel::search::testing {

// A search with its sampler, its trials and whatever a test says came of them.
class Study {
 public:
  using Objective = std::function<Outcome(std::int64_t number, const Point& point)>;

  Study(const Space& space, model::SearchSpec::Method method, std::int64_t max_trials,
        std::uint64_t seed = 1, std::size_t objectives = 1)
      : space_(space), seed_(seed) {
    spec_.method = method;
    spec_.max_trials = max_trials;
    spec_.objectives.resize(objectives);
    sampler_ = fresh();
  }

  // Another sampler of the same construction, which has been told nothing.
  std::unique_ptr<Sampler> fresh() const {
    return make_sampler({.search = &spec_, .space = &space_, .seed = seed_});
  }

  Sampler& sampler() { return *sampler_; }
  const std::vector<Point>& points() const { return points_; }
  std::int64_t next() const { return static_cast<std::int64_t>(points_.size()); }

  // Runs trials, `parallel` at once; those that began first end first.
  void run(std::int64_t trials, const Objective& objective, std::int64_t parallel = 1) {
    for (std::int64_t step = 0; step < trials; ++step) {
      ask(sampler_->suggest(next()));
      if (next() - ended_ >= parallel) tell(objective);
    }
    while (ended_ < next()) tell(objective);
  }

  void ask(Point point) {
    sampler_->asked(next(), point);
    points_.push_back(std::move(point));
  }

  void tell(const Objective& objective) {
    const std::int64_t number = ended_++;
    const Outcome outcome = objective(number, points_[static_cast<std::size_t>(number)]);
    if (outcome.kind == Outcome::Kind::kComplete) best_ = std::min(best_, outcome.values.front());
    sampler_->told(number, outcome);
  }

  double best() const { return best_; }

 private:
  const Space& space_;
  const std::uint64_t seed_;
  model::SearchSpec spec_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<Point> points_;
  std::int64_t ended_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace runnel::search::testing
