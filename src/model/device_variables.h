#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/devices.h"
#include "model/resources.h"

namespace runnel::model {

// The variables by which drivers' libraries show a process its devices and no others, for devices
// granted on a node with this capacity (docs/design/devices.md). Without any: those that hide all.
std::vector<std::pair<std::string, std::string>> device_variables(const Devices& granted,
                                                                  const Resources& capacity);

// Those that device_variables() shows, by driver: its numbers for them on this machine.
Devices machine_devices(const Devices& granted, const Resources& capacity);

// Whether one driver counts and shows the devices of both kinds, so that they are of one maker.
bool have_one_driver(std::string_view kind, std::string_view other);

// Whether device_variables() may give it. Only the user's envs take its place, never a shell's.
bool is_device_variable(std::string_view name);

}  // namespace runnel::model
