#pragma once

#include <cstdint>

#include "base/interval_set.h"
#include "model/devices.h"
#include "model/resources.h"

namespace runnel::sched {

// `count` of the indices 0 .. all-1 that are not `held`: the lowest that follow each other or,
// where no so many do, the lowest. CHECKs that there are as many.
IntervalSet pick_indices(const IntervalSet& held, std::int64_t all, std::int64_t count);

// The same for each kind of device that `wanted` names, on a node with this capacity.
model::Devices pick_devices(const model::Devices& held, const model::Resources& capacity,
                            const model::Resources& wanted);

}  // namespace runnel::sched
