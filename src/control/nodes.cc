#include "control/nodes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"
#include "control/loop_pulse.h"

namespace runnel::control {
namespace {

// What a node tells of attempts that are over for the state.
std::vector<model::RankReport> stale_ranks(const brain::State& state,
                                           const std::vector<model::RankReport>& ranks) {
  std::vector<model::RankReport> stale;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(stale),
               [&](const model::RankReport& rank) { return !brain::is_live(state, rank.attempt); });
  return stale;
}

model::NodeJoin join_of(node::Up message) {
  auto& inventory = std::get<node::Inventory>(message.what);
  return {std::move(inventory.node),        std::move(message.stamp.incarnation),
          std::move(inventory.has.ranks),   std::move(inventory.has.metrics),
          inventory.crashed_idle,           std::move(inventory.beside),
          std::move(inventory.has.devices), std::move(inventory.has.health)};
}

model::NodeReport report_of(const node::Up& message) {
  const node::News& news = node::news_of(message);
  return {message.node, message.stamp.incarnation, news.ranks, news.metrics, news.health,
          news.devices};
}

Error not_here(const NodeId& node, Errc code) {
  return Error(code, "the node '" + node.str() + "' is not here")
      .with_field("node")
      .with_value(node.str())
      .with_hint("runnel nodes lists them");
}

Error told_already(const NodeId& node, Time leaves_at) {
  return Error(Errc::kConflict, "the node '" + node.str() +
                                    "' has its notice already: it goes at " + rfc3339(leaves_at))
      .with_field("node")
      .with_value(node.str())
      .with_hint("wait until it is back: runnel nodes");
}

}  // namespace

Nodes::Nodes(async::EventLoop& loop, env::Clock& clock, LogWriter& writer,
             std::optional<Duration> lease)
    : loop_(loop),
      clock_(clock),
      writer_(writer),
      lease_(lease),
      reconciler_(writer.epoch(), writer.state()),
      joined_(loop),
      gate_(loop) {}

Result<void> Nodes::start() {
  if (!lease_) return {};
  for (const auto& [id, node] : writer_.state().nodes) {
    if (node.up) (void)session_of(id);
  }
  return loop_.spawn(gate_, keep_leases(*lease_));
}

Async<void> Nodes::stop() { return gate_.close(); }

node::NodeSession& Nodes::session_of(const NodeId& node) {
  return sessions_.try_emplace(node, writer_.epoch(), lease_, clock_.boot()).first->second;
}

bool Nodes::is_member(const NodeId& node, const Incarnation& incarnation) const {
  const auto known = writer_.state().nodes.find(node);
  return known != writer_.state().nodes.end() && known->second.up &&
         known->second.incarnation == incarnation;
}

// --- Messages up.

void Nodes::hear(node::Up message) {
  const bool member = is_member(message.node, message.stamp.incarnation);
  const node::UpSequence up = message.stamp.up;
  switch (session_of(message.node).receive(message, member, clock_.boot())) {
    case node::Taking::kDropped:
    case node::Taking::kCollects: return;
    case node::Taking::kAsks: return ask(message);
    case node::Taking::kJoins:
      session_of(message.node).join_comes(up);
      return begin(join(join_of(std::move(message)), up));
    case node::Taking::kReports: return begin(on_report(report_of(message), up));
    case node::Taking::kBeats: return;
    case node::Taking::kLeaves: return begin(leave(std::move(message)));
  }
}

void Nodes::begin(Async<void> work) {
  const Result<void> begun = loop_.spawn(gate_, std::move(work));
  (void)begun;  // Stopping: the node tells the next control.
}

void Nodes::ask(const node::Up& message) {
  const auto link = links_.find(message.node);
  if (link == links_.end()) return;
  link->second->send(session_of(message.node).ask(message.node, message.stamp.incarnation));
}

// Its runner may outlive it, and the node be back before its good-bye is decided.
Async<void> Nodes::leave(node::Up message) {
  const node::UpSequence up = message.stamp.up;
  const Result<void> reported = co_await on_report(report_of(message), up);
  (void)reported;  // Refused or not, it is gone.
  const auto still_gone = [this, node = message.node, up]() -> Result<void> {
    if (!session_of(node).joins_since(up)) return {};
    return Error(Errc::kCancelled, "the node is back");
  };
  co_return co_await on_lost({message.node, message.stamp.incarnation, "Shutdown"}, still_gone);
}

Async<Outcome> Nodes::decide_join(model::NodeJoin join, node::UpSequence up) {
  const NodeId node = join.node.id;
  const std::vector<model::RankReport> inventory = join.ranks;
  node::NodeSession& session = session_of(node);
  const OnDecided on_decided = [this, &session, node, up, &inventory](const Outcome& decided) {
    CHECK(decided.last_event == writer_.state().last_event, "a difference of another moment");
    std::optional<model::NodeOrders> difference;
    if (!decided.refusal) difference = reconciler_.on_join(writer_.state(), node, inventory);
    session.join_decided(up, decided.last_event, std::move(difference));
  };
  co_return co_await writer_.decide(std::move(join), on_decided,
                                    [&session, up] { return session.check_join(up); });
}

Async<void> Nodes::on_join(model::NodeJoin join, node::UpSequence up) {
  session_of(join.node.id).join_comes(up);
  return this->join(std::move(join), up);
}

Async<void> Nodes::join(model::NodeJoin join, node::UpSequence up) {
  node::NodeSession& session = session_of(join.node.id);
  Result<Outcome> outcome = co_await decide_join(std::move(join), up);
  std::optional<model::NodeOrders> difference = session.join_done(up, outcome.ok());
  if (difference) send(*std::move(difference));
  joined_.notify_all();
  const Outcome decided = CO_TRY(std::move(outcome));
  if (!decided.refusal) co_return {};
  session.lose_link();
  co_return *decided.refusal;
}

Async<void> Nodes::on_report(model::NodeReport report, node::UpSequence up) {
  const NodeId node = report.node;
  const auto found = sessions_.find(node);
  if (found == sessions_.end()) co_return {};  // Its join tells all of it.
  node::NodeSession& session = found->second;
  // Decided before the join, it would be of no known node.
  while (session.must_wait()) {
    CO_TRY(co_await joined_.wait(gate_.token()));
  }
  // What the state does not know any more when it is decided ended in an earlier decision.
  std::vector<model::RankReport> ended;
  bool outdated = false;
  const Guard guard = [this, &session, up, &ended, &outdated,
                       told = report.ranks]() -> Result<void> {
    outdated = session.is_outdated(up);
    if (outdated) return Error(Errc::kPrecondition, "the node has joined since");
    ended = stale_ranks(writer_.state(), told);
    return {};
  };
  Result<Outcome> outcome = co_await writer_.decide(std::move(report), {}, guard);
  if (outdated) co_return {};
  const Outcome decided = CO_TRY(std::move(outcome));
  session.report_done(up);
  if (decided.refusal) co_return *decided.refusal;
  if (ended.empty()) co_return {};
  co_return co_await forget(node, std::move(ended));
}

// The node is told, of the state as it is then, once all that this rests on is durable.
Async<void> Nodes::forget(NodeId node, std::vector<model::RankReport> ended) {
  for (;;) {
    const brain::State& state = writer_.state();
    model::NodeOrders orders = reconciler_.forget(state, node, brain::ended_unknown(state, ended));
    const Settled outcome = CO_TRY(co_await writer_.settled());
    if (outcome == Settled::kRolledBack) continue;
    send(std::move(orders));
    co_return {};
  }
}

Async<void> Nodes::on_lost(model::NodeLost lost, Guard guard) {
  const Outcome decided = CO_TRY(co_await writer_.decide(std::move(lost), {}, std::move(guard)));
  if (decided.refusal) co_return *decided.refusal;
  co_return {};
}

Async<void> Nodes::give_notice(NodeId node, Duration notice) {
  const auto known = writer_.state().nodes.find(node);
  if (known == writer_.state().nodes.end()) co_return not_here(node, Errc::kNotFound);
  if (!known->second.up) co_return not_here(node, Errc::kConflict);
  if (known->second.leaves_at != Time()) co_return told_already(node, known->second.leaves_at);
  // What is killed at the end of the notice is heard to end before the node counts as gone.
  const Time leaves_at = writer_.now() + notice + kLastWords;
  model::NodeNotice input{node, known->second.incarnation, leaves_at,
                          std::string(model::kPreemptedReason)};
  const Outcome decided = CO_TRY(co_await writer_.decide(std::move(input)));
  if (decided.refusal) co_return *decided.refusal;
  co_return {};
}

Async<void> Nodes::declare(std::vector<model::NodeInfo> nodes) {
  const Outcome decided = CO_TRY(co_await writer_.decide(model::NodesDeclared{std::move(nodes)}));
  if (decided.refusal) co_return *decided.refusal;
  co_return {};
}

// --- Leases.

Async<void> Nodes::keep_leases(Duration lease) {
  const Duration between = Duration::millis(lease.millis() / kLooksPerLease);
  while (true) {
    CO_TRY(co_await loop_.sleep(between, gate_.token()));
    look_at_leases();
  }
}

void Nodes::look_at_leases() {
  std::vector<std::pair<NodeId, Incarnation>> lost;
  for (const auto& [id, node] : writer_.state().nodes) {
    if (!node.up || !session_of(id).is_lost(clock_.boot())) continue;
    if (given_up_.insert(id).second) lost.emplace_back(id, node.incarnation);
  }
  for (auto& [id, incarnation] : lost) begin(give_up(id, std::move(incarnation)));
}

// A process that stood still finds leases over before it has read what nodes said meanwhile. A full
// disk may keep the loss waiting until the node is back, or has joined in another life; then the
// next look finds out whether it is lost.
Async<void> Nodes::give_up(NodeId node, Incarnation incarnation) {
  LoopPulse pulse(loop_, clock_);
  bool is_unread = true;
  while (is_unread) {
    CO_TRY(co_await pulse.until_read(gate_.token()));
    const Guard still_silent = [this, node, &pulse, &is_unread]() -> Result<void> {
      is_unread = !pulse.is_read();
      if (is_unread) return Error(Errc::kCancelled, "more may have come since");
      if (session_of(node).is_lost(clock_.boot())) return {};
      return Error(Errc::kCancelled, "the node has been heard again");
    };
    is_unread = false;
    const Result<void> lost = co_await on_lost({node, incarnation, "HeartbeatLost"}, still_silent);
    (void)lost;  // If not, it is still up.
  }
  given_up_.erase(node);
  co_return {};
}

// --- Orders down.

void Nodes::send(model::NodeOrders orders) {
  if (empty(orders)) return;
  node::NodeSession& session = session_of(orders.node);
  const auto link = links_.find(orders.node);
  if (link == links_.end() || !session.is_linked()) return;
  link->second->send(session.stamped(std::move(orders)));
}

// Whatever rests on nothing but durable events leaves, differences before what follows from them.
void Nodes::on_durable(std::span<const model::Event> events, EventSeq through) {
  CHECK(through <= writer_.state().last_event, "what nobody decided is durable");
  for (auto& [node, session] : sessions_) {
    std::optional<model::NodeOrders> difference = session.leaves_with(through);
    if (difference) send(*std::move(difference));
  }
  for (model::NodeOrders& orders : reconciler_.after(writer_.state(), events))
    send(std::move(orders));
}

// Orders were made from a state that may have known more than was kept: what that left out is sent
// now.
void Nodes::on_rolled_back() {
  for (auto& [node, session] : sessions_) {
    session.roll_back();  // Its join is void, and decided again.
    if (session.is_linked()) send(reconciler_.everything(writer_.state(), node));
  }
}

void Nodes::remove(const JobId& job) {
  const model::Event deleted = model::JobDeleted{job, ""};
  for (model::NodeOrders& orders : reconciler_.after(writer_.state(), std::span(&deleted, 1))) {
    send(std::move(orders));
  }
}

}  // namespace runnel::control
