#include "agent/rank_pace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::agent {
namespace {

constexpr auto kEnough = static_cast<std::size_t>(model::kSlowStepsMin);

void keep(std::deque<Micros>& measurements, Micros took) {
  measurements.push_back(std::clamp(took, Micros::count(1), model::kStepTimeMax));
  if (measurements.size() > kEnough) measurements.pop_front();
}

Micros middle_of(const std::deque<Micros>& measurements) {
  CHECK(!measurements.empty(), "nothing has no middle");
  std::vector<Micros> sorted(measurements.begin(), measurements.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

// The median of all but the one at `without`, of more than one, ascending.
Micros median_without(const std::vector<Micros>& sorted, std::size_t without) {
  const auto at = [&](std::size_t index) { return sorted[index < without ? index : index + 1]; };
  const std::size_t others = sorted.size() - 1;
  return others % 2 == 1 ? at(others / 2) : (at(others / 2 - 1) + at(others / 2)) / 2;
}

}  // namespace

std::optional<Micros> step_time(const std::string& seconds) {
  double value = 0;
  const char* const end = seconds.data() + seconds.size();
  const auto [stop, failure] = std::from_chars(seconds.data(), end, value);
  if (failure != std::errc() || stop != end || !std::isfinite(value) || value <= 0) {
    return std::nullopt;
  }
  const double micros = std::min(value * 1e6, static_cast<double>(model::kStepTimeMax.count()));
  return Micros::count(std::max<std::int64_t>(1, std::llround(micros)));
}

void RankPaces::add(std::int32_t number, std::int64_t step, std::optional<Micros> own,
                    Duration now) {
  Rank& rank = ranks_[number];
  if (own && step != rank.own_step) {
    told_ = true;
    rank.own_step = step;
    keep(rank.own, *own);
  }
  const bool anew = rank.window_step < 0 || step < rank.step;
  rank.step = step;
  if (anew) {
    rank.window_step = step;
    rank.window_begun = now;
  }
  const Duration passed = now - rank.window_begun;
  if (passed < kWindow || step <= rank.window_step) return;
  keep(rank.paced, Micros::of(passed) / (step - rank.window_step));
  rank.window_step = step;
  rank.window_begun = now;
}

std::optional<RankPaces::Slow> RankPaces::slowest(std::int32_t ranks,
                                                  std::int64_t factor_permille) const {
  CHECK(ranks > 0, "a gang without ranks");
  CHECK(factor_permille > 1'000, "a factor by which everybody would be slow");
  std::vector<std::pair<Micros, std::int32_t>> middles;
  for (const auto& [number, rank] : ranks_) {
    if (measured(rank).size() >= kEnough) middles.emplace_back(middle_of(measured(rank)), number);
  }
  const auto others = static_cast<std::int64_t>(middles.size()) - 1;
  if (others < 1 || others * 2 <= ranks - 1) return std::nullopt;
  std::sort(middles.begin(), middles.end());
  std::vector<Micros> sorted;
  sorted.reserve(middles.size());
  for (const auto& [middle, number] : middles) sorted.push_back(middle);
  // From the one that is furthest from the others on: it may have had one quick step.
  for (std::size_t place = middles.size(); place-- > 0;) {
    const Rank& rank = ranks_.at(middles[place].second);
    const Measurements& its = measured(rank);
    const Slow slow{middles[place].second, *std::min_element(its.begin(), its.end()),
                    median_without(sorted, place), rank.step};
    CHECK(!slow.median.is_zero(), "a measurement is kept that is none");
    if (slow.took.count() * 1'000 / slow.median.count() >= factor_permille) return slow;
  }
  return std::nullopt;
}

}  // namespace runnel::agent
