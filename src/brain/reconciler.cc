#include "brain/reconciler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "brain/places.h"

namespace runnel::brain {
namespace {

bool is_up(const State& state, const NodeId& node) {
  auto found = state.nodes.find(node);
  return found != state.nodes.end() && found->second.up;
}

void add_watch(model::NodeOrders& orders, const State& state, const model::AttemptRef& attempt) {
  auto order = watch_order(state, attempt, orders.node);
  if (order) orders.watch.push_back(*std::move(order));
}

void add_start(model::NodeOrders& orders, const State& state, const model::AttemptRef& attempt) {
  auto order = start_order(state, attempt, orders.node);
  if (!order) return;
  orders.start.push_back(*std::move(order));
  add_watch(orders, state, attempt);
}

void add_stop(model::NodeOrders& orders, const State& state, const model::AttemptRef& attempt,
              model::Status because) {
  auto order = stop_order(state, attempt, because);
  if (order) orders.stop.push_back(*std::move(order));
}

// Attempts of an inventory, and whether any of their ranks still runs.
std::map<model::AttemptRef, bool> running_by_attempt(std::span<const model::RankReport> inventory) {
  std::map<model::AttemptRef, bool> attempts;
  for (const model::RankReport& rank : inventory) attempts[rank.attempt] |= !rank.ended;
  return attempts;
}

// Their ends are waited for: whoever is forgotten while it runs never tells of its end.
void keep_strangers(const State& state, model::NodeOrders& orders) {
  const auto node = state.nodes.find(orders.node);
  if (node == state.nodes.end()) return;
  const std::vector<model::RankRef>& strangers = node->second.strangers;
  std::erase_if(orders.forget, [&](const model::AttemptRef& attempt) {
    const auto first =
        std::lower_bound(strangers.begin(), strangers.end(), model::RankRef{attempt, 0});
    return first != strangers.end() && first->attempt == attempt;
  });
}

}  // namespace

// Sorts what one run of events calls for by node.
class Reconciler::Collector {
 public:
  Collector(Reconciler& reconciler, const State& state) : reconciler_(reconciler), state_(state) {}

  void operator()(const model::LaneOpened& event) {
    reconciler_.lanes_[event.lane] = nodes_of(model::places_of(event.holding));
  }

  void operator()(const model::LaneClosed& event) { closed_.push_back(event.lane); }

  void operator()(const model::LaneExtended& event) {
    for (const NodeId& node : nodes_of_lane(event.lane)) {
      for (const model::LaneTask& task : event.tasks) {
        const model::TaskRef ref{event.job, event.step, task.index};
        add_start(to(node), state_, model::AttemptRef{ref, task.attempt});
      }
    }
  }

  void operator()(const model::AttemptStopping& event) {
    for (const NodeId& node : nodes_of_lane(event.lane)) {
      add_stop(to(node), state_, event.attempt, event.because);
    }
  }

  void operator()(const model::AttemptEnded& event) {
    for (const NodeId& node : nodes_of_lane(event.lane)) to(node).forget.push_back(event.attempt);
  }

  // Any node may have been one of the job's.
  void operator()(const model::JobDeleted& event) {
    for (const auto& [id, node] : state_.nodes) to(id).remove.push_back(event.job);
  }

  // Any other event asks nothing of a node, or stands beside one that does. A node that joined or
  // left is told by on_join() or not at all.
  template <typename Other>
  void operator()(const Other&) {}

  std::vector<model::NodeOrders> take() {
    for (const LaneId lane : closed_) reconciler_.lanes_.erase(lane);
    std::vector<model::NodeOrders> all;
    for (auto& [node, orders] : orders_) {
      if (!is_up(state_, node)) continue;
      keep_strangers(state_, orders);
      if (!empty(orders)) all.push_back(std::move(orders));
    }
    return all;
  }

 private:
  const std::vector<NodeId>& nodes_of_lane(LaneId lane) const {
    auto found = reconciler_.lanes_.find(lane);
    CHECK(found != reconciler_.lanes_.end(), "an event names a lane that never opened");
    return found->second;
  }

  model::NodeOrders& to(const NodeId& node) {
    auto found = orders_.find(node);
    if (found != orders_.end()) return found->second;
    return orders_.emplace(node, reconciler_.orders_to(state_, node)).first->second;
  }

  Reconciler& reconciler_;
  const State& state_;
  std::map<NodeId, model::NodeOrders> orders_;
  std::vector<LaneId> closed_;  // Forgotten last: their attempts end in the same decision.
};

Reconciler::Reconciler(Epoch epoch, const State& state) : epoch_(epoch) {
  for (const auto& [id, lane] : state.lanes) lanes_[id] = nodes_of(lane.places());
}

model::NodeOrders Reconciler::orders_to(const State& state, const NodeId& node) const {
  model::NodeOrders orders;
  orders.epoch = epoch_;
  orders.node = node;
  auto found = state.nodes.find(node);
  if (found != state.nodes.end()) orders.incarnation = found->second.incarnation;
  return orders;
}

std::vector<model::NodeOrders> Reconciler::after(const State& state,
                                                 std::span<const model::Event> events) {
  Collector collector(*this, state);
  for (const model::Event& event : events) std::visit(collector, event);
  return collector.take();
}

model::NodeOrders Reconciler::on_join(const State& state, const NodeId& node,
                                      std::span<const model::RankReport> inventory) const {
  model::NodeOrders orders = orders_to(state, node);
  std::map<model::AttemptRef, bool> there = running_by_attempt(inventory);
  for (const DesiredAttempt& wanted : desired(state, node)) {
    const bool missing = there.erase(wanted.attempt) == 0;
    missing ? add_start(orders, state, wanted.attempt) : add_watch(orders, state, wanted.attempt);
    if (wanted.stopping) add_stop(orders, state, wanted.attempt, *wanted.stopping);
  }
  for (const auto& [attempt, running] : there) {
    if (running) {
      orders.stop.push_back({attempt, kUnwantedGrace, model::StopReason::kCancelled});
    } else {
      orders.forget.push_back(attempt);
    }
  }
  return orders;
}

model::NodeOrders Reconciler::everything(const State& state, const NodeId& node) const {
  model::NodeOrders orders = orders_to(state, node);
  for (const DesiredAttempt& wanted : desired(state, node)) {
    add_start(orders, state, wanted.attempt);
    if (wanted.stopping) add_stop(orders, state, wanted.attempt, *wanted.stopping);
  }
  return orders;
}

model::NodeOrders Reconciler::forget(const State& state, const NodeId& node,
                                     std::vector<model::AttemptRef> attempts) const {
  model::NodeOrders orders = orders_to(state, node);
  orders.forget = std::move(attempts);
  keep_strangers(state, orders);
  return orders;
}

bool is_live(const State& state, const model::AttemptRef& attempt) {
  const Task* task = find_task(state, attempt.task);
  return task != nullptr && task->live && task->live->number == attempt.attempt;
}

std::vector<model::AttemptRef> ended_unknown(const State& state,
                                             std::span<const model::RankReport> ranks) {
  std::vector<model::AttemptRef> unknown;
  for (const model::RankReport& rank : ranks) {
    if (rank.ended && !is_live(state, rank.attempt)) unknown.push_back(rank.attempt);
  }
  return unknown;
}

}  // namespace runnel::brain
