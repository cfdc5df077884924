#include "sim/fate.h"

#include "sim/dice.h"

namespace runnel::sim {

using model::AttemptRef;
using model::EndCause;

std::uint64_t mixed(std::uint64_t seed, const AttemptRef& attempt, std::int32_t rank) {
  std::uint64_t mix = seed;
  const auto stir = [&](std::uint64_t value) { mix = Dice(mix ^ (value * kGoldenGamma)).next(); };
  for (char letter : attempt.task.job.str()) stir(static_cast<unsigned char>(letter));
  stir(static_cast<std::uint64_t>(attempt.task.step.value()) + 1);
  stir(static_cast<std::uint64_t>(attempt.task.index.value()) + 1);
  stir(static_cast<std::uint64_t>(attempt.attempt.value()) + 1);
  stir(static_cast<std::uint64_t>(rank) + 1);
  return mix;
}

Fate fate_of(std::uint64_t seed, const model::StartOrder& order, std::int32_t rank) {
  Dice dice(mixed(seed, order.attempt, rank));
  Fate fate;
  fate.lasts = Duration::millis(dice.chance(500) ? dice.between(1, 20) : dice.between(20, 1'500));
  if (dice.chance(50)) fate.lasts = Duration::millis(dice.between(1'500, 8'000));
  if (dice.chance(120)) fate.code = dice.chance(500) ? 1 : 75;
  if (dice.chance(30)) fate.signal = 11;
  if (order.checkpoint.has_value() && dice.chance(200)) fate.code = 85;
  if (fate.signal != 0) fate.code = 0;
  if (order.memory_max.count() > 0 && dice.chance(20)) {
    fate = {fate.lasts, 0, 9, EndCause::kOutOfMemory};
  }
  if (order.port != 0 && dice.chance(20)) fate = {Duration(), 0, 0, EndCause::kPortBusy};
  if (!order.max_duration.is_zero() && fate.lasts > order.max_duration) {
    fate = {order.max_duration, 0, 15, EndCause::kTimeout};
  }
  return fate;
}

}  // namespace runnel::sim
