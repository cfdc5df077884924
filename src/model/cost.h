#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/node.h"
#include "model/resources.h"

// Held resources cost by the hour: docs/design/cost.md.
namespace runnel::model {

// Per hour.
struct Rate {
  Money paid;  // The nodes' cost as they are.
  Money list;  // Their cost if none could be taken away.
  friend bool operator==(const Rate&, const Rate&) = default;
};

struct Cost {
  Money paid;
  Money list;
  friend bool operator==(const Cost&, const Cost&) = default;
};

Rate operator+(const Rate& a, const Rate& b);
// CHECKs that the result is not negative.
Rate operator-(const Rate& a, const Rate& b);
Cost operator+(const Cost& a, const Cost& b);

// The cost of `held` of the node: the node's price by the largest of its shares of cpus, memory and
// devices, since nobody else can use the rest of a node whose scarcest part is gone.
Rate rate_of(const NodeInfo& node, const Resources& held);

// The cost that a rate comes to, rounded down.
Cost cost_of(const Rate& rate, Duration length);

// A kind of machine that can be rented.
struct InstanceType {
  std::string name;
  Resources capacity;
  Money price;       // Per hour.
  Money spot_price;  // Per hour; zero: not offered as spot.
  friend bool operator==(const InstanceType&, const InstanceType&) = default;
};

// The cheapest type that holds `amount`, by its lasting price and then its name; null when none
// does.
const InstanceType* cheapest_for(const std::vector<InstanceType>& types, const Resources& amount);

// Gives the node the prices of its `instance`, or of the cheapest type that holds it, and that
// type's name. No effect when there is none.
void price_as(NodeInfo& node, const std::vector<InstanceType>& types);

}  // namespace runnel::model
