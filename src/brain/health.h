#pragma once

#include "brain/turn.h"
#include "model/health.h"

// The rules of ranks with a problem: docs/design/health.md.
namespace runnel::brain {

// What a node saw of a rank: judged by the policy of its step. Passed over when it is too little,
// or not of a live attempt that goes on and has this rank there.
void take_health(Turn& turn, const NodeId& node, const model::HealthReport& report);

}  // namespace runnel::brain
