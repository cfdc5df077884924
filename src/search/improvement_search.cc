#include "search/improvement_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "search/box_minimizer.h"
#include "search/expected_improvement.h"

namespace runnel::search {
namespace {

constexpr int kCandidatesOverAll = 400;
constexpr int kCandidatesPerAnchor = 24;
constexpr std::size_t kStartsOfAKind = 3;  // The best ones, which are improved.
constexpr int kImprovingRounds = 2;        // Each improves the intervals, then the counted axes.
constexpr int kSlopeSteps = 30;
constexpr int kOtherValues = 6;  // Tried per counted axis and round.

}  // namespace

std::vector<double> gp_coordinates(const Space& space, const UnitPoint& units) {
  std::vector<double> coordinates = units;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    if (!std::isnan(units[axis])) continue;
    coordinates[axis] = space.axes()[axis].kind == Axis::Kind::kCategorical ? -1 : 0.5;
  }
  return coordinates;
}

std::vector<Coordinate> gp_kinds(const Space& space) {
  std::vector<Coordinate> kinds;
  for (const Axis& axis : space.axes()) {
    kinds.push_back(axis.kind == Axis::Kind::kCategorical ? Coordinate::kChoice
                                                          : Coordinate::kNumber);
  }
  return kinds;
}

double ImprovementSearch::score(const UnitPoint& units) const {
  const auto [mean, deviation] = process_.guess(gp_coordinates(space_, units));
  return log_improvement((level_ - mean) / deviation).value + std::log(deviation);
}

// The nearest possible point, scored.
ImprovementSearch::Candidate ImprovementSearch::scored(const UnitPoint& units) const {
  Candidate candidate{.units = to_units(space_, from_units(space_, units))};
  candidate.score = score(candidate.units);
  return candidate;
}

std::vector<ImprovementSearch::Candidate> ImprovementSearch::over_all(RandomStream& stream) const {
  std::vector<Candidate> found;
  found.reserve(kCandidatesOverAll);
  for (int drawn = 0; drawn < kCandidatesOverAll; ++drawn) {
    found.push_back(scored(to_units(space_, random_point(space_, stream))));
  }
  return found;
}

// Moves about half of the coordinates.
UnitPoint ImprovementSearch::near(UnitPoint units, double width, RandomStream& stream) const {
  for (std::size_t axis = 0; axis < space_.size(); ++axis) {
    if (std::isnan(units[axis]) || stream.uniform() < 0.5) continue;
    if (space_.axes()[axis].kind == Axis::Kind::kCategorical) {
      if (stream.uniform() < 0.5) units[axis] = std::floor(stream.uniform() * space_.cells(axis));
    } else {
      units[axis] = std::clamp(units[axis] + width * stream.normal(), 0.0, 1.0);
    }
  }
  return units;
}

std::vector<ImprovementSearch::Candidate> ImprovementSearch::around(
    const std::vector<UnitPoint>& anchors, RandomStream& stream) const {
  std::vector<Candidate> found;
  for (const UnitPoint& anchor : anchors) {
    for (int drawn = 0; drawn < kCandidatesPerAnchor; ++drawn) {
      const double width = std::pow(10, -0.5 - 2 * stream.uniform());
      found.push_back(scored(near(anchor, width, stream)));
    }
  }
  return found;
}

ImprovementSearch::Candidate ImprovementSearch::along_slope(const Candidate& from) const {
  std::vector<std::size_t> free;
  Box box;
  std::vector<double> start;
  for (std::size_t axis = 0; axis < space_.size(); ++axis) {
    if (space_.cells(axis) != 0 || std::isnan(from.units[axis])) continue;
    free.push_back(axis);
    start.push_back(from.units[axis]);
  }
  if (free.empty()) return from;
  box.low.assign(free.size(), 0.0);
  box.high.assign(free.size(), 1.0);
  std::vector<double> coordinates = gp_coordinates(space_, from.units);
  GaussianProcess::Slopes slopes;
  const auto loss = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    for (std::size_t i = 0; i < free.size(); ++i) coordinates[free[i]] = at[i];
    const auto [mean, deviation] = process_.guess(coordinates, slopes);
    const double z = (level_ - mean) / deviation;
    const LogImprovement gain = log_improvement(z);
    for (std::size_t i = 0; i < free.size(); ++i) {
      const double dz = -(slopes.mean[free[i]] + z * slopes.deviation[free[i]]) / deviation;
      gradient[i] = -(gain.slope * dz + slopes.deviation[free[i]] / deviation);
    }
    return -(gain.value + std::log(deviation));
  };
  const Minimum minimum = minimize(loss, std::move(start), box, kSlopeSteps);
  UnitPoint units = from.units;
  for (std::size_t i = 0; i < free.size(); ++i) units[free[i]] = minimum.at[i];
  return scored(units);
}

ImprovementSearch::Candidate ImprovementSearch::with_other_values(Candidate from,
                                                                  RandomStream& stream) const {
  for (std::size_t axis = 0; axis < space_.size(); ++axis) {
    const double cells = space_.cells(axis);
    for (int tries = 0; tries < kOtherValues && cells > 1; ++tries) {
      if (std::isnan(from.units[axis])) break;
      UnitPoint other = from.units;
      if (space_.axes()[axis].kind == Axis::Kind::kCategorical) {
        other[axis] = std::floor(stream.uniform() * cells);
      } else if (tries < 2) {
        other[axis] = std::clamp(other[axis] + (tries == 0 ? 1 : -1) / cells, 0.0, 1.0);
      } else {
        other[axis] = stream.uniform();
      }
      Candidate candidate = scored(other);
      if (candidate.score > from.score) from = std::move(candidate);
    }
  }
  return from;
}

ImprovementSearch::Candidate ImprovementSearch::improved(Candidate candidate,
                                                         RandomStream& stream) const {
  for (int round = 0; round < kImprovingRounds; ++round) {
    Candidate moved = along_slope(candidate);
    if (moved.score > candidate.score) candidate = std::move(moved);
    const double before = candidate.score;
    candidate = with_other_values(std::move(candidate), stream);
    if (candidate.score == before) break;
  }
  return candidate;
}

Point ImprovementSearch::best(const std::vector<UnitPoint>& anchors, RandomStream& stream) const {
  Candidate best{.score = -std::numeric_limits<double>::infinity()};
  for (std::vector<Candidate> found : {over_all(stream), around(anchors, stream)}) {
    std::ranges::sort(found, std::ranges::greater{}, &Candidate::score);
    if (found.size() > kStartsOfAKind) found.resize(kStartsOfAKind);
    for (Candidate& start : found) {
      Candidate candidate = improved(std::move(start), stream);
      if (candidate.score > best.score || best.units.empty()) best = std::move(candidate);
    }
  }
  return from_units(space_, best.units);
}

}  // namespace runnel::search
