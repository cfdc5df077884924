#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/node.h"
#include "model/resources.h"

// Money, in billionths of a dollar so that a task of a millisecond is not free:
// docs/design/cost.md.
namespace runnel::model {

// Nanodollars per hour.
struct Rate {
  std::int64_t paid = 0;  // What the nodes cost as they are.
  std::int64_t list = 0;  // What they would cost if none could be taken away.
  friend bool operator==(const Rate&, const Rate&) = default;
};

// Nanodollars.
struct Cost {
  std::int64_t paid = 0;
  std::int64_t list = 0;
  friend bool operator==(const Cost&, const Cost&) = default;
};

Rate operator+(const Rate& a, const Rate& b);
// CHECKs that the result is not negative.
Rate operator-(const Rate& a, const Rate& b);
Cost operator+(const Cost& a, const Cost& b);

// What `held` of the node costs: the node's price by the largest of its shares of cpus, memory and
// devices, since nobody else can use the rest of a node whose scarcest part is gone.
Rate rate_of(const NodeInfo& node, const Resources& held);

// What a rate comes to, rounded down.
Cost cost_of(const Rate& rate, Duration length);

// "1.250000": dollars with six decimals, rounded down.
std::string dollars(std::int64_t nanos);

// A kind of machine that can be rented.
struct InstanceType {
  std::string name;
  Resources capacity;
  std::int64_t price_micros = 0;       // Millionths of a dollar per hour.
  std::int64_t spot_price_micros = 0;  // 0: not offered as spot.
  friend bool operator==(const InstanceType&, const InstanceType&) = default;
};

// The cheapest type that holds `amount`, by its lasting price and then its name; null when none
// does.
const InstanceType* cheapest_for(const std::vector<InstanceType>& types, const Resources& amount);

// Gives the node the prices of its `instance`, or of the cheapest type that holds it, and that
// type's name. No effect when there is none.
void price_as(NodeInfo& node, const std::vector<InstanceType>& types);

}  // namespace runnel::model
