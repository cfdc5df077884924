#pragma once

#include <string>

#include "brain/turn.h"
#include "model/quarantine.h"

// Devices that vanish: docs/design/devices.md.
namespace runnel::brain {

// A device that came back is granted again when it has stayed for so long.
inline constexpr Duration kDeviceProof = Duration::seconds(60);

// What a node saw of its devices. Whoever holds one that is missing is asked to end, as lost.
void take_devices(Turn& turn, const NodeId& node, const model::DeviceReport& report);

// Grants again what came back and stayed.
void release_devices(Turn& turn);

// Which devices of the lane are missing, and why: a sentence. Empty when none is.
std::string loss_text(const State& state, const Lane& lane);

}  // namespace runnel::brain
