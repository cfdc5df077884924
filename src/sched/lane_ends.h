#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "model/resources.h"

namespace runnel::sched {

// When a lane will have ended at the latest, on one of its nodes. The soonest comes first, those of
// which nobody knows come last; of those at one moment by node and, on one node, by lane.
struct LaneEndKey {
  std::optional<Time> by;  // Absent: nobody knows.
  NodeId node;
  std::int64_t lane = 0;

  friend bool operator==(const LaneEndKey&, const LaneEndKey&) = default;
  friend bool operator<(const LaneEndKey& a, const LaneEndKey& b);
};

// The resources that lanes give back.
using LaneEnds = std::map<LaneEndKey, model::Resources>;

}  // namespace runnel::sched
