#include "cli/node_glue.h"

#include <utility>

#include "base/check.h"

namespace runnel::cli {

void NodeGlue::send(model::NodeOrders orders) {
  if (agent_ == nullptr) return;  // It joins later and gets the whole difference.
  const Result<void> applied = agent_->apply(std::move(orders));
  // Only a daemon that lost its reign is refused, and that one is about to end.
  (void)applied;
}

agent::AgentEvents NodeGlue::events() {
  agent::AgentEvents events;
  events.on_join = [this](model::NodeInventory inventory) { join(std::move(inventory)); };
  events.on_reports = [this](NodeId node, Incarnation life, std::vector<model::RankReport> ranks) {
    const Result<void> begun = loop_.spawn(
        gate_, controller_.on_report({std::move(node), std::move(life), std::move(ranks)}));
    (void)begun;  // Closing: the runner keeps what it reported.
  };
  events.on_runner_lost = [](const std::string&) {};  // The next join tells what is lost.
  return events;
}

void NodeGlue::join(model::NodeInventory inventory) {
  for (const model::NodeInfo& node : nodes_) {
    if (node.id != inventory.node) continue;
    model::NodeJoin input{node, inventory.incarnation, std::move(inventory.ranks)};
    const Result<void> begun = loop_.spawn(gate_, controller_.on_join(std::move(input)));
    (void)begun;
    return;
  }
  CHECK(false, "the agent speaks of a node that the home does not have");
}

Async<control::LogPage> LogGlue::read(control::LogQuery query, std::string cursor) {
  agent::LogFilter filter{query.job,  query.step,  query.task, query.attempt,
                          query.rank, query.since, query.tail};
  Result<agent::LogPage> read = co_await agent_.read_log(std::move(filter), std::move(cursor));
  agent::LogPage page = CO_TRY(std::move(read));
  control::LogPage out;
  out.cursor = std::move(page.cursor);
  for (agent::LogPiece& piece : page.pieces) {
    const auto stream = piece.stream == agent::LogStream::kErr ? control::OutputStream::kErr
                                                               : control::OutputStream::kOut;
    out.pieces.push_back({piece.attempt, piece.rank, stream, piece.arrived_at,
                          std::move(piece.bytes), std::move(piece.cursor)});
  }
  co_return out;
}

Async<void> LogGlue::changed(JobId job, async::StopToken stop) {
  return agent_.log_changed(std::move(job), std::move(stop));
}

}  // namespace runnel::cli
