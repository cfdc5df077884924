#pragma once

#include <string>

#include "json/value.h"

namespace runnel::cli {

// "H100:0,1 L4:3": of {"H100": [0, 1], "L4": [3]}. Three and more that follow each other are a
// range, "H100:0-7".
std::string devices_text(const json::Value& devices);

// Those of a task, by node: "H100:0,1" where that is one node, else "a H100:0; b H100:0,1". "-"
// when the row tells none.
std::string placed_devices_text(const json::Value& row);

// Whether a table of these rows has a column for devices.
bool any_has_devices(const json::Value::List& rows);

}  // namespace runnel::cli
