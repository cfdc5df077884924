#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/ids.h"
#include "brain/brain.h"
#include "model/event.h"
#include "model/order.h"
#include "model/report.h"

namespace runnel::brain {

// Turns durable events into what nodes are to do: the difference between desired and observed (law
// 3).
//
// Contract: after() takes each durable event once, in order; the state is the one after them or a
//           later one. Orders name each node that is up once and are idempotent, so that sending
//           too many is only waste; sending too few is what on_join() and everything() make good.
// Threads:  none of its own; no clock, no I/O.
// Why:      it remembers the nodes of each open lane: an attempt that ended has left the state when
//           its nodes are to be told to forget it.
class Reconciler {
 public:
  Reconciler(Epoch epoch, const State& state);

  // What these events call for, node by node.
  std::vector<model::NodeOrders> after(const State& state, std::span<const model::Event> events);

  // The full difference for a node that joined and has `inventory`.
  model::NodeOrders on_join(const State& state, const NodeId& node,
                            std::span<const model::RankReport> inventory) const;

  // All that should be on a node whose inventory is not known.
  model::NodeOrders everything(const State& state, const NodeId& node) const;

  // Records of attempts that ended earlier: the node did not hear, or lost, the order to forget
  // them. Not of those of which ranks still run there.
  model::NodeOrders forget(const State& state, const NodeId& node,
                           std::vector<model::AttemptRef> attempts) const;

 private:
  class Collector;
  model::NodeOrders orders_to(const State& state, const NodeId& node) const;

  Epoch epoch_;
  std::map<LaneId, std::vector<NodeId>> lanes_;
};

// What an attempt that nobody wants any more is given between TERM and KILL: its result is void.
inline constexpr Duration kUnwantedGrace = Duration::seconds(5);

bool is_live(const State& state, const model::AttemptRef& attempt);

// The attempts of a report that are over for the state: their ends have been recorded long ago.
std::vector<model::AttemptRef> ended_unknown(const State& state,
                                             std::span<const model::RankReport> ranks);

}  // namespace runnel::brain
