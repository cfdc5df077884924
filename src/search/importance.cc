#include "search/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "search/scale.h"

namespace runnel::search {
namespace {

using Density = std::vector<double>;  // By cell; adds up to 1.

// The trials in which one axis takes part: the cell of each, and which are among the best.
struct Sample {
  std::vector<std::size_t> all;
  std::vector<std::size_t> top;
};

std::size_t cells_of(const Axis& axis) {
  const double count = count_of(axis);
  if (axis.kind == Axis::Kind::kCategorical) return static_cast<std::size_t>(count);
  if (count == 0 || count > static_cast<double>(kCells)) return kCells;
  return static_cast<std::size_t>(count);
}

std::size_t cell_of(const Axis& axis, double value, std::size_t cells) {
  const double place = unit_of(axis, value) * static_cast<double>(cells);
  return std::min(static_cast<std::size_t>(place), cells - 1);
}

// The value of the last of the best.
double top_value(std::vector<double> values) {
  const std::size_t tenth = (values.size() + 9) / 10;
  const std::size_t top = std::min(std::max(tenth, kTopMin), values.size());
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(top) - 1;
  std::nth_element(values.begin(), last, values.end());
  return *last;
}

Sample sample_of(const std::vector<Axis>& axes, std::size_t axis, const std::vector<Point>& points,
                 const std::vector<double>& values) {
  std::vector<std::size_t> members;
  std::vector<double> reached;
  for (std::size_t trial = 0; trial < points.size(); ++trial) {
    if (!takes_part(axes, points[trial], axis)) continue;
    members.push_back(trial);
    reached.push_back(values[trial]);
  }
  Sample sample;
  if (members.empty()) return sample;
  const double last = top_value(std::move(reached));
  const std::size_t cells = cells_of(axes[axis]);
  for (const std::size_t trial : members) {
    const std::size_t cell = cell_of(axes[axis], points[trial][axis], cells);
    sample.all.push_back(cell);
    if (values[trial] <= last) sample.top.push_back(cell);
  }
  return sample;
}

Density histogram(const std::vector<std::size_t>& sample, std::size_t cells) {
  Density density(cells, 0);
  for (const std::size_t cell : sample) density[cell] += 1;
  for (double& share : density) share /= static_cast<double>(sample.size());
  return density;
}

// By Scott's rule, in cells; at least half of one, below which a grid shows nothing.
double width_of(const Density& density, std::size_t trials) {
  double mean = 0;
  double square = 0;
  for (std::size_t cell = 0; cell < density.size(); ++cell) {
    const auto place = static_cast<double>(cell);
    mean += density[cell] * place;
    square += density[cell] * place * place;
  }
  const double deviation = std::sqrt(std::max(square - mean * mean, 0.0));
  return std::max(1.059 * deviation * std::pow(static_cast<double>(trials), -0.2), 0.5);
}

// Each cell's share spread over all cells; what would fall outside is kept inside.
Density smoothed(const Density& density, double width) {
  Density smooth(density.size(), 0);
  std::vector<double> kernel(density.size());
  for (std::size_t cell = 0; cell < density.size(); ++cell) {
    if (density[cell] == 0) continue;
    for (std::size_t to = 0; to < kernel.size(); ++to) {
      const double distance = (static_cast<double>(to) - static_cast<double>(cell)) / width;
      kernel[to] = std::exp(-0.5 * distance * distance);
    }
    const double mass = std::accumulate(kernel.begin(), kernel.end(), 0.0);
    for (std::size_t to = 0; to < kernel.size(); ++to)
      smooth[to] += density[cell] * kernel[to] / mass;
  }
  return smooth;
}

// The top is a part of all, so where there is none of all there is none of the top either.
double pearson_divergence(const Density& top, const Density& all) {
  double divergence = 0;
  for (std::size_t cell = 0; cell < all.size(); ++cell) {
    const double difference = top[cell] - all[cell];
    if (all[cell] > 0) divergence += difference * difference / all[cell];
  }
  return divergence;
}

double influence(const Axis& axis, const Sample& sample) {
  if (sample.top.size() == sample.all.size()) return 0;
  const std::size_t cells = cells_of(axis);
  const Density top = histogram(sample.top, cells);
  const Density all = histogram(sample.all, cells);
  if (axis.kind == Axis::Kind::kCategorical) return pearson_divergence(top, all);
  const double width = width_of(top, sample.top.size());
  return pearson_divergence(smoothed(top, width), smoothed(all, width));
}

}  // namespace

std::vector<double> importances(const std::vector<Axis>& axes, const std::vector<Point>& points,
                                const std::vector<double>& values) {
  CHECK(points.size() == values.size(), "trials without a value, or values without a trial");
  std::vector<double> shares;
  shares.reserve(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    shares.push_back(influence(axes[axis], sample_of(axes, axis, points, values)));
  }
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (total > 0) {
    for (double& share : shares) share /= total;
  }
  return shares;
}

}  // namespace runnel::search
