#include "sim/message_check.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace runnel::sim {
namespace {

template <typename T>
void add(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

template <typename Order>
void note(std::set<model::AttemptRef>& told, const std::vector<Order>& orders) {
  for (const Order& order : orders) told.insert(order.attempt);
}

template <typename Order>
std::string find_untold(const std::set<model::AttemptRef>& told, const std::vector<Order>& orders,
                        const std::string& what) {
  for (const Order& order : orders) {
    if (!told.contains(order.attempt)) return what + to_string(order.attempt);
  }
  return "";
}

}  // namespace

// The inventory with its parts, which came right before it; nothing when one of them did not come.
std::optional<node::Inventory> MessageCheck::whole(node::Inventory last, std::int64_t up,
                                                   Parts came) {
  node::Inventory all;
  std::swap(all.node, last.node);
  std::swap(all.crashed_idle, last.crashed_idle);
  came[up] = {std::move(last.has), std::move(last.beside)};
  for (std::int64_t number = up - last.parts; number <= up; ++number) {
    const auto part = came.find(number);
    if (part == came.end()) return std::nullopt;
    const node::InventoryPart& more = part->second;
    add(all.has.ranks, more.has.ranks);
    add(all.has.metrics, more.has.metrics);
    add(all.has.health, more.has.health);
    if (more.has.devices) all.has.devices = more.has.devices;
    for (const model::LostRanks& lost : more.beside) {
      const bool goes_on = !all.beside.empty() && all.beside.back().node == lost.node;
      if (!goes_on) all.beside.push_back({lost.node, {}});
      add(all.beside.back().ranks, lost.ranks);
    }
  }
  return all;
}

bool MessageCheck::knows_all_orders(const node::Up& message) const {
  const auto sent = sent_.find(message.node);
  return sent != sent_.end() && message.stamp.epoch == sent->second.epoch &&
         message.stamp.taken >= sent->second.sequence;
}

void MessageCheck::hears(const node::Up& message, Time now) {
  node::UpSequence& newest = newest_[message.node];
  is_stale_ = message.stamp.up <= newest;
  if (message.stamp.up.value() > newest.value() + 1) behind_.insert(message.node);
  newest = std::max(newest, message.stamp.up);
  if (is_stale_) return;
  if (const auto* part = std::get_if<node::InventoryPart>(&message.what)) {
    parts_[message.node][message.stamp.up.value()] = *part;
  }
  const auto* last = std::get_if<node::Inventory>(&message.what);
  if (last == nullptr) return;
  const std::optional<node::Inventory> inventory =
      whole(*last, message.stamp.up.value(), std::exchange(parts_[message.node], {}));
  if (!inventory || !knows_all_orders(message)) return;
  behind_.erase(message.node);
  Told has;
  note(has.started, inventory->has.ranks);
  told_[message.node] = std::move(has);  // It is not linked until it was told the difference.
  std::vector<Reported>& heard = inventories_[message.node];
  if (!heard.empty() && heard.back().at < now) heard.erase(heard.begin(), heard.end() - 1);
  heard.push_back({now,
                   {inventory->node, message.stamp.incarnation, inventory->has.ranks,
                    inventory->has.metrics, inventory->crashed_idle, inventory->beside,
                    inventory->has.devices, inventory->has.health}});
}

std::string MessageCheck::sends(const model::NodeOrders& orders) {
  sent_[orders.node] = {orders.epoch, orders.sequence};
  Told& told = told_[orders.node];
  note(told.started, orders.start);
  note(told.watched, orders.watch);
  note(told.stopped, orders.stop);
  if (!empty(orders) && behind_.contains(orders.node)) {
    return "node " + orders.node.str() + " gets orders though a message of it is missing";
  }
  if (!is_stale_) return "";
  return "a message of node " + orders.node.str() +
         " is answered that was heard before, or is older than one that was";
}

std::string MessageCheck::lacks(const model::NodeOrders& everything) const {
  static const Told kNothing;
  const auto found = told_.find(everything.node);
  const Told& told = found == told_.end() ? kNothing : found->second;
  std::string untold = find_untold(told.started, everything.start, "to start ");
  if (untold.empty()) untold = find_untold(told.watched, everything.watch, "to watch ");
  if (untold.empty()) untold = find_untold(told.stopped, everything.stop, "to stop ");
  return untold.empty() ? "" : "node " + everything.node.str() + " was not told " + untold;
}

// Control looks at the messages of this moment in its next turn.
std::string MessageCheck::joins(const model::NodeJoin& join, Time now) const {
  const auto heard = inventories_.find(join.node.id);
  if (heard != inventories_.end()) {
    const std::vector<Reported>& all = heard->second;
    const bool in_turn = all.back().at == now;
    const auto first = in_turn ? all.begin() : all.end() - 1;
    const bool known =
        std::any_of(first, all.end(), [&](const Reported& each) { return each.join == join; });
    if (known) return "";
  }
  return "node " + join.node.id.str() +
         " joins by an inventory that is not its newest, or does not know all orders sent to it";
}

}  // namespace runnel::sim
