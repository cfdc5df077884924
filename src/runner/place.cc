#include "runner/place.h"

#include <algorithm>

namespace runnel::runner {

bool Place::over() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankRun& rank) { return rank.phase == RankRun::Phase::kEnded; });
}

bool Place::draining() const {
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const RankRun& rank) { return rank.leader_gone(); });
}

Duration Place::deadline() const {
  Duration nearest;
  const auto consider = [&](Duration at) {
    if (!at.is_zero() && (nearest.is_zero() || at < nearest)) nearest = at;
  };
  consider(timeout_at);
  consider(kill_at);
  consider(retry_at);
  for (const RankRun& rank : ranks) {
    if (rank.leader_gone()) consider(rank.drain_look);
  }
  return nearest;
}

}  // namespace runnel::runner
