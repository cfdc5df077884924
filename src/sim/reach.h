#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/event.h"
#include "sim/truth.h"

namespace runnel::sim {

// How often schedules went to what not every job has: what a campaign may claim to have tried.
enum class Reach : std::uint8_t {
  // Lanes and attempts.
  kSpotLanes,
  kLeasesEnded,  // A node was given up, of which nothing was heard.
  kNotices,      // A cloud said that it takes a node,
  kNoticed,      // and what ran there was asked to save and end.
  kWholeNodes,
  kMemoryMax,   // Attempts that had more memory than their limit,
  kNotStarted,  // and those that their node refused, or could not make ready.
  // What nodes tell, by Truth: more than fits into one message.
  kPartedInventories,
  kPartedReports,
  // Trials asked for, by method,
  kAuto,
  kGrid,
  kRandom,
  kTpe,
  kCmaEs,
  kGp,
  kNsga2,
  kPbt,
  // and of whom.
  kStart,  // At a point that the user wanted.
  kFrom,   // By a search that knew earlier trials.
  kExternal,
  kSeveral,   // By a search with several objectives.
  kMoved,     // Members that went on from another.
  kMisspelt,  // That were warned of the name of their metric.
  // Decisions of pruners, by kind.
  kAshaStopped,
  kAshaParked,
  kAshaPromoted,
  kHyperbandStopped,
  kHyperbandParked,
  kHyperbandPromoted,
  kMedianStopped,
  // Values that were drawn, by the kind of their parameter.
  kUniform,
  kStepped,
  kLogUniform,
  kRange,
  kLogRange,
  kChoice,
  kConditional,
  kLeftOut,  // By its condition.
};
inline constexpr std::size_t kReachCounts = 38;
using ReachCounts = std::array<std::int64_t, kReachCounts>;

std::string reach_lines(const ReachCounts& counts);
ReachCounts count_reach(const std::vector<model::Event>& log, const Truth& truth);

}  // namespace runnel::sim
