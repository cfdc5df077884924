#pragma once

#include <functional>

#include "sim/scenario.h"

namespace runnel::sim {

// The scenario with as few of its faults and wishes as `breaks` still says yes to: first halves go,
// then ever smaller parts (after ddmin; Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input", 2002).
//
// Limits: `breaks` is asked at most `asked_max` times; what is left then is returned.
Scenario minimise(Scenario scenario, const std::function<bool(const Scenario&)>& breaks,
                  int asked_max);

}  // namespace runnel::sim
