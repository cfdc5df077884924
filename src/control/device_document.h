#pragma once

#include <vector>

#include "brain/state.h"
#include "json/value.h"
#include "json/writer.h"

// Devices in answers: the indices of each kind, {"H100": [0, 1]} (docs/design/devices.md).
namespace runnel::control {

// What places have of each node: "devices": {"gpu": {"H100": [0, 1]}}. Nothing where they have
// none.
void write_devices(json::Writer& out, const std::vector<model::Place>& places);

// Those of one node: how many of each kind may be granted, which lane holds which, which
// vanished, and what was left running there. CHECKs that the node has devices.
json::Value node_devices(const brain::State& state, const brain::Node& node);

}  // namespace runnel::control
