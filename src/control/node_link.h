#pragma once

#include "model/order.h"

namespace runnel::control {

// The way down to one node.
//
// Contract: send() takes the message and returns at once. One that is lost costs nothing but time:
//           whoever loses messages joins again, and gets the full difference.
// Threads:  the loop's only.
// Lifetime: attached to the Nodes, detached before it ends.
class NodeLink {
 public:
  virtual ~NodeLink() = default;
  virtual void send(model::NodeOrders orders) = 0;
};

}  // namespace runnel::control
