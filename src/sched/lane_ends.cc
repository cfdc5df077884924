#include "sched/lane_ends.h"

#include <tuple>

namespace runnel::sched {

bool operator<(const LaneEndKey& a, const LaneEndKey& b) {
  if (a.by.has_value() != b.by.has_value()) return a.by.has_value();
  if (a.by != b.by) return *a.by < *b.by;
  return std::tie(a.node, a.lane) < std::tie(b.node, b.lane);
}

}  // namespace runnel::sched
