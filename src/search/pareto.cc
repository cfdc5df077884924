#include "search/pareto.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace runnel::search {
namespace {

// The members of one front, by one objective.
std::vector<std::size_t> front_by(const std::vector<Values>& all,
                                  const std::vector<std::size_t>& fronts, std::size_t front,
                                  std::size_t objective) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (fronts[i] == front) members.push_back(i);
  }
  std::ranges::sort(members, {}, [&](std::size_t i) { return std::pair(all[i][objective], i); });
  return members;
}

void add_gaps(const std::vector<Values>& all, const std::vector<std::size_t>& members,
              std::size_t objective, std::vector<double>& crowding) {
  const double low = all[members.front()][objective];
  const double high = all[members.back()][objective];
  crowding[members.front()] = crowding[members.back()] = std::numeric_limits<double>::infinity();
  if (low == high) return;
  for (std::size_t at = 1; at + 1 < members.size(); ++at) {
    const double gap = all[members[at + 1]][objective] - all[members[at - 1]][objective];
    crowding[members[at]] += gap / (high - low);
  }
}

}  // namespace

bool dominates(const Values& a, const Values& b) {
  CHECK(a.size() == b.size(), "trials with different numbers of objectives");
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

std::vector<std::size_t> fronts_of(const std::vector<Values>& all) {
  std::vector<std::size_t> dominators(all.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Values& other : all) dominators[i] += dominates(other, all[i]) ? 1 : 0;
  }
  std::vector<std::size_t> fronts(all.size(), 0);
  std::vector<bool> placed(all.size(), false);
  std::size_t left = all.size();
  for (std::size_t front = 0; left > 0; ++front) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!placed[i] && dominators[i] == 0) members.push_back(i);
    }
    for (const std::size_t member : members) {
      placed[member] = true;
      fronts[member] = front;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (dominates(all[member], all[i])) --dominators[i];
      }
    }
    left -= members.size();
  }
  return fronts;
}

std::vector<double> crowding_of(const std::vector<Values>& all,
                                const std::vector<std::size_t>& fronts) {
  std::vector<double> crowding(all.size(), 0.0);
  if (all.empty()) return crowding;
  const std::size_t last = *std::ranges::max_element(fronts);
  for (std::size_t front = 0; front <= last; ++front) {
    for (std::size_t objective = 0; objective < all.front().size(); ++objective) {
      add_gaps(all, front_by(all, fronts, front, objective), objective, crowding);
    }
  }
  return crowding;
}

}  // namespace runnel::search
