#pragma once

#include <cstdint>

#include "model/health.h"
#include "model/refs.h"

namespace runnel::sim {

// What a look tells that is just enough for the policy to act.
model::HealthReport enough_of(const model::HealthPolicy& policy, const model::AttemptRef& attempt,
                              std::int32_t rank, model::HealthProblem problem);
// The same for any policy.
model::HealthReport accusation(const model::AttemptRef& attempt, std::int32_t rank,
                               model::HealthProblem problem);

}  // namespace runnel::sim
