#pragma once

#include <cstdint>

#include "base/units.h"
#include "model/order.h"
#include "model/refs.h"
#include "model/report.h"

namespace runnel::sim {

// How a process would behave if nobody touched it.
struct Fate {
  Duration lasts;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  model::EndCause cause = model::EndCause::kExited;
};
Fate fate_of(std::uint64_t seed, const model::StartOrder& order, std::int32_t rank);

// A seed of its own for each rank of each attempt; what is drawn of an attempt for another purpose
// takes a number that no rank has.
std::uint64_t mixed(std::uint64_t seed, const model::AttemptRef& attempt, std::int32_t rank);

}  // namespace runnel::sim
