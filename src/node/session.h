#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/order.h"
#include "node/message.h"

namespace runnel::node {

// What is to become of a message from a node.
enum class Taking : std::uint8_t {
  kDropped,   // It was heard, or a newer one was.
  kCollects,  // A part of an inventory that is not whole yet.
  kAsks,      // Only an inventory that knows all orders sent to the node will do: ask() goes there.
  kJoins,
  kReports,
  kBeats,
  kLeaves,
};

// Control's side of one node: which of its messages count, in which order they are decided, what it
// may be sent and when, and whether it is still there. docs/design/node.md.
//
// Contract: messages may be lost, doubled, late and out of order, up and down. Who may have lost
//           one joins anew. No order reaches a node's attempts twice with effect: a node joins by
//           an inventory that it made after all orders sent to it, of the joins that wait to be
//           decided only the newest counts, and what it lacks is what it lacked when its join was
//           decided.
// Limits:   an inventory of more than kPartsMax parts is never whole.
// Threads:  none of its own; no clock, no I/O: `now` counts from any moment and never goes back.
class NodeSession {
 public:
  static constexpr std::size_t kPartsMax = 4'096;

  // `lease`: the node is given up when nothing was heard of it for so long, from `now` on; none: it
  // is only lost when somebody says so.
  NodeSession(Epoch epoch, std::optional<Duration> lease, Duration now);

  // --- Messages up.

  // `is_member`: whether the state has the node, up, in the message's incarnation. An inventory by
  // which it joins is made whole.
  Taking receive(Up& message, bool is_member, Duration now);
  // The connection is gone, or a message on it: the node joins again, and hears nothing until then.
  void lose_link();
  // Whether its lease is over.
  bool is_lost(Duration now) const { return lease_ && now - heard_at_ > *lease_; }

  // --- Deciding, which may wait for the disk and be done twice.

  // In the turn in which it is received: what is heard next may end the link again.
  void join_comes(UpSequence up);
  // Whether the join still counts, right before it is decided. kPrecondition.
  Result<void> check_join(UpSequence up) const;
  // It was decided; `difference`, which may be empty, is what the node lacks by the state of this
  // moment, which rests on all events up to `rests_on`. None: the join was refused.
  void join_decided(UpSequence up, EventSeq rests_on, std::optional<model::NodeOrders> difference);
  // It is durable, or void. What is returned leaves now.
  std::optional<model::NodeOrders> join_done(UpSequence up, bool is_durable);
  // A report that comes after a join is decided after it.
  bool must_wait() const { return joins_undecided_ > 0; }
  // Whether a newer inventory has come than the message, and counts.
  bool joins_since(UpSequence up) const { return up < newest_join_; }
  // The inventory of a later join says all that it says.
  bool is_outdated(UpSequence up) const { return up < joined_; }
  void report_done(UpSequence up) { note_taken(up); }

  // --- Orders down.

  bool is_linked() const { return linked_; }
  // As they leave.
  model::NodeOrders stamped(model::NodeOrders orders);
  // Asks for an inventory that knows all orders before it: orders without any. The same question
  // until an inventory comes that does.
  model::NodeOrders ask(const NodeId& node, const Incarnation& incarnation);
  // The difference, once all that it rests on is durable: from then on the node is linked.
  std::optional<model::NodeOrders> leaves_with(EventSeq durable);
  // Decisions that are not durable are void.
  void roll_back() { difference_.reset(); }

 private:
  // The orders that a node which joined lacks. They leave with its join's batch: made or sent
  // later, they would start again what has begun, ended and been forgotten in between.
  struct Difference {
    UpSequence join;
    EventSeq rests_on;
    model::NodeOrders orders;
  };

  Taking take_part(InventoryPart part, bool is_next);
  Taking take_inventory(const Stamp& stamp, Inventory& inventory, bool is_next);
  bool knows_all(const Stamp& stamp) const;
  std::optional<model::NodeOrders> take_difference();
  void note_taken(UpSequence up);

  Epoch epoch_;
  std::optional<Duration> lease_;
  UpSequence heard_;           // The newest message.
  Duration heard_at_;          // When that came, or the session began.
  bool linked_ = false;        // Its join is durable, and no message was lost since.
  bool joining_ = false;       // It will be, when its join is.
  bool asked_ = false;         // Since a join came last.
  std::int64_t sequence_ = 0;  // The number of the newest orders to it.
  // Of an inventory that is not whole yet: the messages that came last, none missing between them.
  std::vector<InventoryPart> parts_;

  UpSequence newest_join_;   // The newest join that came.
  UpSequence joined_;        // The join that was decided last.
  UpSequence taken_;         // The newest message whose decision is durable.
  int joins_undecided_ = 0;  // Or not durable.
  std::optional<Difference> difference_;
};

}  // namespace runnel::node
