#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/input.h"
#include "model/order.h"
#include "node/message.h"

namespace runnel::sim {

// What control promises of the messages between it and its nodes (docs/design/node.md), told once
// more and in other words than node::NodeSession's.
//
// Contract: each function answers with what is broken, or nothing. A message that was heard, or is
//           older than one that was, is not answered; a node joins only by an inventory that knows
//           all orders sent to it, and of these by the newest that has come before this moment. A
//           node of which a message is missing gets no orders until it has sent such an inventory.
//           One that is linked has been told all that it is to do.
// Why:      each of these rules stands before others (incarnations, numbers of orders), so that
//           breaking one of them alone starts nothing twice: only the rule itself tells.
class MessageCheck {
 public:
  // Another life of control, which has heard and sent nothing.
  void restart() { *this = MessageCheck(); }
  // Control hears the message; what it sends until heard() is its answer.
  void hears(const node::Up& message, Time now);
  void heard() { is_stale_ = false; }
  std::string sends(const model::NodeOrders& orders);
  std::string joins(const model::NodeJoin& join, Time now) const;
  // `everything`: what a linked node is to do by a state that is durable.
  std::string lacks(const model::NodeOrders& everything) const;

 private:
  struct Sent {
    Epoch epoch;
    std::int64_t sequence = 0;
  };
  using Parts = std::map<std::int64_t, node::InventoryPart>;  // By the numbers of their messages.
  bool knows_all_orders(const node::Up& message) const;
  static std::optional<node::Inventory> whole(node::Inventory last, std::int64_t up, Parts came);

  // What the node told of in the newest inventory that counts, and what it was sent since.
  struct Told {
    std::set<model::AttemptRef> started;
    std::set<model::AttemptRef> watched;
    std::set<model::AttemptRef> stopped;
  };

  struct Reported {
    Time at;
    model::NodeJoin join;
  };

  std::map<NodeId, Sent> sent_;                // Newest.
  std::map<NodeId, node::UpSequence> newest_;  // Reported.
  std::map<NodeId, Parts> parts_;              // Of inventories that are not whole yet.
  // That a node may join by: the newest, those of the same moment, and the one before.
  std::map<NodeId, std::vector<Reported>> inventories_;
  std::map<NodeId, Told> told_;
  std::set<NodeId> behind_;  // Nodes of which a message is missing.
  bool is_stale_ = false;    // The message that is heard now.
};

}  // namespace runnel::sim
