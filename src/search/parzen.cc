#include "search/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace runnel::search {
namespace {

// The narrowest kernel is this part of its axis, and wider while there are fewer of them.
constexpr double kSharpest = 100;
constexpr double kNormalMass = 2.5066282746310002;  // sqrt(2 pi): of a bell of height and width 1.

bool is_choice(const Space& space, std::size_t axis) {
  return space.axes()[axis].kind == Axis::Kind::kCategorical;
}

// The part of a normal around `center` that lies in [0, 1].
double inner_mass(double center, double width) {
  constexpr double kFar = 6;  // Deviations; beyond them lies less than 1e-9.
  const double scale = 1 / (width * std::numbers::sqrt2);
  const double below = center < kFar * width ? std::erfc(center * scale) / 2 : 0;
  const double above = 1 - center < kFar * width ? std::erfc((1 - center) * scale) / 2 : 0;
  return 1 - below - above;
}

// The larger of the distances to both neighbours; a lone center has the ends for neighbours.
std::vector<double> gaps_of(const std::vector<double>& centers) {
  std::vector<std::pair<double, std::size_t>> sorted;
  for (std::size_t kernel = 0; kernel < centers.size(); ++kernel) {
    if (!std::isnan(centers[kernel])) sorted.emplace_back(centers[kernel], kernel);
  }
  std::ranges::sort(sorted);
  std::vector<double> gaps(centers.size(), 0.0);
  if (sorted.size() == 1) {
    const auto [center, kernel] = sorted.front();
    gaps[kernel] = std::max(center, 1 - center);
  }
  for (std::size_t at = 1; at < sorted.size(); ++at) {
    const double gap = sorted[at].first - sorted[at - 1].first;
    gaps[sorted[at - 1].second] = std::max(gaps[sorted[at - 1].second], gap);
    gaps[sorted[at].second] = gap;
  }
  return gaps;
}

// The logarithm of the sum of what these are logarithms of.
double log_sum(const std::vector<double>& logs) {
  constexpr double kNothing = 40;  // A term so much less than the highest adds no digit.
  const double highest = *std::ranges::max_element(logs);
  double sum = 0;
  for (const double log : logs) {
    if (log > highest - kNothing) sum += std::exp(log - highest);
  }
  return highest + std::log(sum);
}

}  // namespace

Parzen::Parzen(const Space& space, const std::vector<const UnitPoint*>& centers)
    : space_(space), kernels_(centers.size()), columns_(space.size()) {
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    Column& column = columns_[axis];
    column.centers.reserve(kernels_);
    for (const UnitPoint* center : centers) column.centers.push_back((*center)[axis]);
    if (is_choice(space, axis)) {
      add_choice(axis, column);
    } else {
      add_interval(axis, column);
    }
  }
}

void Parzen::add_interval(std::size_t axis, Column& column) const {
  const double cells = space_.cells(axis);
  const double half_cell = cells > 0 ? 0.5 / cells : 0;
  const double least = 1 / std::min(kSharpest, static_cast<double>(kernels_ + 1));
  column.widths = gaps_of(column.centers);
  for (auto* values : {&column.sharpness, &column.offset, &column.log_peak}) {
    values->reserve(kernels_);
  }
  for (std::size_t kernel = 0; kernel < kernels_; ++kernel) {
    double& width = column.widths[kernel];
    width = std::clamp(width, std::max(least, half_cell), 1.0);
    const bool absent = std::isnan(column.centers[kernel]);
    const double mass =
        width * kNormalMass * (absent ? 1 : inner_mass(column.centers[kernel], width));
    column.sharpness.push_back(absent ? 0 : 1 / width);
    column.offset.push_back(absent ? 0 : column.centers[kernel] / width);
    column.log_peak.push_back(absent ? 0 : -std::log(mass));
  }
}

void Parzen::add_choice(std::size_t axis, Column& column) const {
  const double count = space_.cells(axis);
  // Together the kernels give each other value the weight of one of them.
  const double other = 1 / (static_cast<double>(std::max<std::size_t>(kernels_, 1)) + count);
  column.keeps = 1 - count * other;
  for (const double center : column.centers) {
    const bool absent = std::isnan(center);
    column.log_same.push_back(std::log(absent ? 1 / count : column.keeps + other));
    column.log_other.push_back(std::log(absent ? 1 / count : other));
  }
}

double Parzen::draw_coordinate(std::size_t axis, std::size_t kernel, RandomStream& stream) const {
  constexpr int kTries = 32;  // Each succeeds with at least one third.
  const Column& column = columns_[axis];
  const double center = kernel < kernels_ ? column.centers[kernel] : std::nan("");
  if (is_choice(space_, axis)) {
    if (!std::isnan(center) && stream.uniform() < column.keeps) return center;
    return std::floor(stream.uniform() * space_.cells(axis));
  }
  for (int tries = 0; tries < kTries && !std::isnan(center); ++tries) {
    const double drawn = center + column.widths[kernel] * stream.normal();
    if (drawn >= 0 && drawn <= 1) return drawn;
  }
  return stream.uniform();
}

Point Parzen::draw(RandomStream& stream) const {
  const std::size_t kernel = stream.below(kernels_ + 1);  // The last one is the uniform one.
  UnitPoint units;
  units.reserve(space_.size());
  for (std::size_t axis = 0; axis < space_.size(); ++axis) {
    units.push_back(draw_coordinate(axis, kernel, stream));
  }
  return from_units(space_, units);
}

void Parzen::add_logs(std::size_t axis, double at, std::vector<double>& logs) const {
  const Column& column = columns_[axis];
  if (is_choice(space_, axis)) {
    for (std::size_t kernel = 0; kernel < kernels_; ++kernel) {
      logs[kernel] +=
          column.centers[kernel] == at ? column.log_same[kernel] : column.log_other[kernel];
    }
    return;
  }
  for (std::size_t kernel = 0; kernel < kernels_; ++kernel) {
    const double distance = at * column.sharpness[kernel] - column.offset[kernel];
    logs[kernel] += column.log_peak[kernel] - distance * distance / 2;
  }
}

double Parzen::log_density(const UnitPoint& units) const {
  std::vector<double> logs(kernels_, 0.0);
  double uniform = 0;
  for (std::size_t axis = 0; axis < space_.size(); ++axis) {
    if (std::isnan(units[axis])) continue;
    if (is_choice(space_, axis)) uniform -= std::log(space_.cells(axis));
    add_logs(axis, units[axis], logs);
  }
  logs.push_back(uniform);
  return log_sum(logs) - std::log(static_cast<double>(logs.size()));
}

}  // namespace runnel::search
