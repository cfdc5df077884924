#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "base/ids.h"
#include "base/units.h"
#include "brain/reconciler.h"
#include "control/log_writer.h"
#include "control/node_link.h"
#include "env/clock.h"
#include "model/input.h"
#include "node/message.h"
#include "node/session.h"

namespace runnel::control {

// What control has to do with nodes: their messages become inputs of the brain, durable events
// become orders to them, and who is silent for longer than its lease is given up.
//
// Contract: orders leave when all that they rest on is durable. A node gets what its events call
//           for, after each commit, and the full difference when it joins; while it is not joined
//           it gets nothing. What on_*() return is durable.
// Threads:  the loop's only.
// Lifetime: stop() is awaited before destruction; links are detached before that, the log writer
//           outlives it.
class Nodes {
 public:
  // `lease`: see node::NodeSession.
  Nodes(async::EventLoop& loop, env::Clock& clock, LogWriter& writer,
        std::optional<Duration> lease);
  // Begins to watch the leases: those of the nodes that are up run from now on, whether or not they
  // are heard of again.
  Result<void> start();
  Async<void> stop();

  // Orders for `node` go to `link` from now on; it replaces an earlier one.
  void attach(const NodeId& node, NodeLink& link) { links_[node] = &link; }
  void detach(const NodeId& node) { links_.erase(node); }
  // A message to the node, or from it, may be lost: it joins again by its next inventory.
  void lose_link(const NodeId& node) { session_of(node).lose_link(); }
  // Whether it is sent what its events call for.
  bool is_linked(const NodeId& node) const {
    const auto session = sessions_.find(node);
    return session != sessions_.end() && session->second.is_linked();
  }

  // A message from a node, of whichever kind: begins what is to become of it.
  void hear(node::Up message);

  // A report that comes after its node's join is decided after it, whatever the disk does. Of
  // joins that wait for the disk only the newest is decided; kPrecondition for the others, and for
  // one that is older than a message that was taken. A report older than a join counts for nothing:
  // the join's inventory says all that it says.
  Async<void> on_join(model::NodeJoin join, node::UpSequence up);
  Async<void> on_report(model::NodeReport report, node::UpSequence up);
  // `guard`: see LogWriter::decide().
  Async<void> on_lost(model::NodeLost lost, Guard guard = {});
  // The node will be taken away after `notice`: what runs there is asked to save and end. kConflict
  // for one that is not there or was told already.
  Async<void> give_notice(NodeId node, Duration notice);
  // These are the nodes from now on, before any of them joins: see model::NodesDeclared.
  Async<void> declare(std::vector<model::NodeInfo> nodes);

  // Events that are durable now, up to `through`: sends what they call for.
  void on_durable(std::span<const model::Event> events, EventSeq through);
  void on_rolled_back();
  // The record of a job that has left the state is gone: so are its files.
  void remove(const JobId& job);

 private:
  static constexpr Duration kLastWords = Duration::millis(300);
  static constexpr std::int64_t kLooksPerLease = 6;

  node::NodeSession& session_of(const NodeId& node);
  bool is_member(const NodeId& node, const Incarnation& incarnation) const;
  void begin(Async<void> work);
  void ask(const node::Up& message);
  Async<void> leave(node::Up message);
  void send(model::NodeOrders orders);
  // Of a join that has come: see on_join().
  Async<void> join(model::NodeJoin join, node::UpSequence up);
  Async<Outcome> decide_join(model::NodeJoin join, node::UpSequence up);
  Async<void> forget(NodeId node, std::vector<model::RankReport> ended);
  Async<void> keep_leases(Duration lease);
  void look_at_leases();
  Async<void> give_up(NodeId node, Incarnation incarnation);

  async::EventLoop& loop_;
  env::Clock& clock_;
  LogWriter& writer_;
  const std::optional<Duration> lease_;
  brain::Reconciler reconciler_;
  std::map<NodeId, NodeLink*> links_;
  std::map<NodeId, node::NodeSession> sessions_;
  std::set<NodeId> given_up_;  // Until that is decided.
  async::Notifier joined_;
  async::Gate gate_;
};

}  // namespace runnel::control
