#include "search/pareto.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace runnel::search {
namespace {

using Front = std::vector<std::size_t>;

// The positions 0 .. count-1 by their key; of equal ones the lower first.
template <typename Key>
Front sorted_by(std::size_t count, Key key) {
  Front order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (key(a) < key(b)) return true;
    return !(key(b) < key(a)) && a < b;
  });
  return order;
}

// Nobody is dominated by one that comes later.
Front in_lexicographic_order(const std::vector<Values>& values) {
  return sorted_by(values.size(),
                   [&](std::size_t position) -> const Values& { return values[position]; });
}

// The last ones are the likeliest to dominate: of two objectives, the very last one does if any.
bool any_dominates(const std::vector<Values>& values, const Front& front, std::size_t candidate) {
  return std::any_of(front.rbegin(), front.rend(), [&](std::size_t member) {
    return dominates(values[member], values[candidate]);
  });
}

void add_crowding(const std::vector<Values>& values, const Front& front, std::size_t objective,
                  std::vector<double>& distances) {
  // Halves, since the difference of two finite numbers need not be one.
  const auto half = [&](std::size_t member) { return values[front[member]][objective] / 2; };
  const Front order = sorted_by(front.size(), half);
  const double spread = half(order.back()) - half(order.front());
  if (spread <= 0) return;
  distances[order.front()] = std::numeric_limits<double>::infinity();
  distances[order.back()] = std::numeric_limits<double>::infinity();
  for (std::size_t place = 1; place + 1 < order.size(); ++place) {
    distances[order[place]] += (half(order[place + 1]) - half(order[place - 1])) / spread;
  }
}

}  // namespace

bool dominates(const Values& a, const Values& b) {
  CHECK(a.size() == b.size(), "two results of one search have different numbers of objectives");
  bool better = false;
  for (std::size_t objective = 0; objective < a.size(); ++objective) {
    if (a[objective] > b[objective]) return false;
    better = better || a[objective] < b[objective];
  }
  return better;
}

std::vector<std::size_t> pareto_front(const std::vector<Values>& values) {
  Front front;
  for (const std::size_t candidate : in_lexicographic_order(values)) {
    if (!any_dominates(values, front, candidate)) front.push_back(candidate);
  }
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<std::vector<std::size_t>> nondominated_fronts(const std::vector<Values>& values) {
  std::vector<Front> fronts;
  for (const std::size_t candidate : in_lexicographic_order(values)) {
    auto home = std::find_if(fronts.begin(), fronts.end(), [&](const Front& front) {
      return !any_dominates(values, front, candidate);
    });
    if (home == fronts.end()) home = fronts.emplace(fronts.end());
    home->push_back(candidate);
  }
  for (Front& front : fronts) std::sort(front.begin(), front.end());
  return fronts;
}

std::vector<double> crowding_distances(const std::vector<Values>& values,
                                       const std::vector<std::size_t>& front) {
  std::vector<double> distances(front.size(), 0);
  if (front.empty()) return distances;
  const std::size_t objectives = values[front.front()].size();
  for (std::size_t objective = 0; objective < objectives; ++objective) {
    add_crowding(values, front, objective, distances);
  }
  return distances;
}

}  // namespace runnel::search
