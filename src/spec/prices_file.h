#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cost.h"

namespace runnel::spec {

// Reads a table of prices: {instances: {NAME: {cpus, memory, accelerators, price, spot_price}}},
// dollars per hour, `spot_price` where the type is offered as spot. kInvalid with
// file:line:column, field, value and remedy.
Result<std::vector<model::InstanceType>> parse_prices_file(std::string_view text,
                                                           const std::string& file);

// The table that comes with this version, as such a file.
std::string_view shipped_prices();

}  // namespace runnel::spec
