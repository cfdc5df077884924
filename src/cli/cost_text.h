#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "json/value.h"

namespace runnel::cli {

// A decimal number without zeros at its end: "0.3" for "0.300000".
std::string without_zeros(std::string number);

// "0.096": dollars without zeros at the end.
std::string price_text(Money price);
// "2" or "0.5" for thousandths.
std::string thousandths(std::int64_t thousandths);

// What a job or a step has cost up to `now`, from its document: "$0.0256", with what it costs an
// hour while it runs and what spot nodes saved. "" when its nodes have no price.
std::string cost_text(const json::Value& document, Time now);

}  // namespace runnel::cli
