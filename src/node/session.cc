#include "node/session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "node/parts.h"

namespace runnel::node {

NodeSession::NodeSession(Epoch epoch, std::optional<Duration> lease, Duration now)
    : epoch_(epoch), lease_(lease), heard_at_(now) {
  CHECK(!lease || *lease > Duration(), "a lease that is over before it begins");
}

// --- Messages up.

Taking NodeSession::receive(Up& message, bool is_member, Duration now) {
  CHECK(now >= heard_at_, "a clock that goes back");
  if (message.stamp.up <= heard_) return Taking::kDropped;
  const bool is_next = message.stamp.up.value() == heard_.value() + 1;
  heard_ = message.stamp.up;
  heard_at_ = now;
  if (auto* part = std::get_if<InventoryPart>(&message.what)) {
    return take_part(std::move(*part), is_next);
  }
  if (auto* inventory = std::get_if<Inventory>(&message.what)) {
    return take_inventory(message.stamp, *inventory, is_next);
  }
  parts_.clear();
  if (std::holds_alternative<GoodBye>(message.what)) {
    lose_link();
    return Taking::kLeaves;
  }
  // A lost message may have told of an end; a node that is no member was given up.
  if (!is_next || (linked_ && !is_member)) lose_link();
  if (!linked_ && !joining_) return Taking::kAsks;
  return std::holds_alternative<Beat>(message.what) ? Taking::kBeats : Taking::kReports;
}

// Nobody knows whether the rest of them will come.
void NodeSession::lose_link() {
  linked_ = joining_ = false;
  parts_.clear();
}

// The node has met its runner anew: what it is sent from here on its inventory would not know.
Taking NodeSession::take_part(InventoryPart part, bool is_next) {
  std::vector<InventoryPart> before = std::exchange(parts_, {});
  lose_link();
  if (is_next && before.size() < kPartsMax) parts_ = std::move(before);
  parts_.push_back(std::move(part));
  return Taking::kCollects;
}

Taking NodeSession::take_inventory(const Stamp& stamp, Inventory& inventory, bool is_next) {
  std::vector<InventoryPart> parts = std::exchange(parts_, {});
  lose_link();
  if (!is_next) parts.clear();  // Of another inventory, or its last parts are missing.
  const bool is_whole = std::cmp_equal(inventory.parts, parts.size());
  if (!is_whole || !knows_all(stamp)) return Taking::kAsks;
  make_whole(inventory, std::move(parts));
  // An earlier inventory's: this one would not know what it makes the node do.
  difference_.reset();
  joining_ = true;
  return Taking::kJoins;
}

// One that is still on its way would begin what the join takes for gone. Before the first orders of
// this epoch those of an earlier one may be.
bool NodeSession::knows_all(const Stamp& stamp) const {
  return stamp.epoch == epoch_ && stamp.taken >= sequence_;
}

// --- Deciding.

void NodeSession::join_comes(UpSequence up) {
  newest_join_ = std::max(newest_join_, up);
  ++joins_undecided_;
  joining_ = true;
  asked_ = false;
}

Result<void> NodeSession::check_join(UpSequence up) const {
  if (up == newest_join_ && up >= taken_) return {};
  return Error(Errc::kPrecondition, "the node has sent a newer message than this join");
}

void NodeSession::join_decided(UpSequence up, EventSeq rests_on,
                               std::optional<model::NodeOrders> difference) {
  CHECK(joins_undecided_ > 0, "a join is decided that has not come");
  joined_ = up;
  if (difference) difference_ = {up, rests_on, *std::move(difference)};
}

std::optional<model::NodeOrders> NodeSession::join_done(UpSequence up, bool is_durable) {
  CHECK(joins_undecided_ > 0, "a join is done that has not come");
  --joins_undecided_;
  if (is_durable) note_taken(up);
  if (!is_durable && up == newest_join_) joining_ = false;
  if (!difference_ || difference_->join != up) return std::nullopt;
  // One that nothing undurable stood before was answered without a commit.
  if (is_durable) return take_difference();
  difference_.reset();
  return std::nullopt;
}

// Linked any earlier, the node could be sent what its inventory does not know: a join that is
// decided again would take it for gone.
std::optional<model::NodeOrders> NodeSession::take_difference() {
  Difference left = *std::exchange(difference_, std::nullopt);
  if (!std::exchange(joining_, false)) return std::nullopt;  // The link was lost meanwhile.
  linked_ = true;
  return std::move(left.orders);
}

void NodeSession::note_taken(UpSequence up) { taken_ = std::max(taken_, up); }

// --- Orders down.

model::NodeOrders NodeSession::stamped(model::NodeOrders orders) {
  CHECK(orders.epoch == epoch_, "orders of another term");
  CHECK(linked_, "orders for a node that hears nothing");
  orders.sequence = ++sequence_;
  return orders;
}

model::NodeOrders NodeSession::ask(const NodeId& node, const Incarnation& incarnation) {
  CHECK(!node.empty(), "nobody is asked");
  // Asked again, the same: the answer to the first may be on its way.
  if (!std::exchange(asked_, true)) ++sequence_;
  model::NodeOrders orders;
  orders.epoch = epoch_;
  orders.node = node;
  orders.incarnation = incarnation;
  orders.sequence = sequence_;
  return orders;
}

std::optional<model::NodeOrders> NodeSession::leaves_with(EventSeq durable) {
  if (!difference_ || difference_->rests_on > durable) return std::nullopt;
  return take_difference();
}

}  // namespace runnel::node
