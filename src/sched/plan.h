#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sched/cluster.h"
#include "sched/lane_ends.h"
#include "sched/place.h"
#include "sched/request.h"

namespace runnel::sched {

// Requests below the head that one plan looks at.
inline constexpr int kBackfillDepthMax = 128;
// Lanes one plan opens; the rest follows with the next input.
inline constexpr int kGrantsPerPlanMax = 256;

struct Snapshot {
  const Cluster* cluster = nullptr;
  std::span<const Request> queue;  // In order of QueueKey.
  // The holdings of all lanes: asked only when somebody may pass one that is blocked, since that
  // costs a walk over them.
  std::function<const LaneEnds&()> running;
  Time now;
};

struct Grant {
  std::size_t request = 0;  // Index into the queue.
  Placement placement;
};

struct Plan {
  std::vector<Grant> grants;         // To be opened in this order.
  std::vector<std::size_t> blocked;  // Requests that wanted more and did not fit.
};

// Decides which lanes to open now: strict order first, then backfill (EASY: Lifka, "The ANL/IBM SP
// Scheduling System", 1995, section 3): a younger request may start when it cannot delay the first
// blocked one, or while that one's patience lasts. Pure and deterministic; the snapshot is not
// changed.
Plan plan(const Snapshot& snapshot);

}  // namespace runnel::sched
