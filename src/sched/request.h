#pragma once

#include <compare>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "model/resources.h"

namespace runnel::sched {

// The place of a request in the queue: higher priority first, then older job, then earlier step.
struct QueueKey {
  std::int64_t negative_priority = 0;
  std::int64_t job_order = 0;  // Grows with each submission.
  StepIndex step;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

// How much of a host's CPUs a place takes.
enum class CpuShare : std::uint8_t { kAsAsked, kWholeHost };

// Which hosts a place may use: spot hosts are for those alone that said they can bear to lose one.
enum class SpotUse : std::uint8_t { kNever, kPreferred };

// For this long younger requests may pass a blocked one; then the hosts it needs are kept for it,
// so it starts after at most this wait plus the longest lane then running (the bound against
// starvation).
inline constexpr Duration kBackfillPatience = Duration::seconds(60);

// One step's wish: up to `lanes_wanted` lanes, each of `places` places that start together.
struct Request {
  QueueKey key;
  std::int32_t places = 1;
  model::Resources per_place;
  CpuShare cpu_share = CpuShare::kAsAsked;
  SpotUse spot_use = SpotUse::kNever;
  std::int64_t lanes_wanted = 1;
  Time waiting_since;
  Time not_before;  // It starts no earlier; hosts that are free for it are kept meanwhile.
  Duration limit;   // Each lane ends within this; zero: unknown.
  // It shares hosts only with requests of the same number, and otherwise takes idle ones; zero:
  // with all that have none.
  std::int64_t apart = 0;
  Duration patience = kBackfillPatience;  // How long younger requests may pass it.
};

}  // namespace runnel::sched
