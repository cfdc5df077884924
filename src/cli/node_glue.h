#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "agent/agent.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "control/api.h"
#include "control/controller.h"
#include "control/log_source.h"
#include "control/node_link.h"
#include "model/node.h"
#include "node/message.h"

namespace runnel::cli {

// Ties control and agent of one process together: orders down, joins and reports up. Neither knows
// the other; this is what a network connection does where they are apart.
//
// Threads:  the loop's only.
// Lifetime: control, agent and gate outlive it; the gate is closed before it goes.
class NodeGlue final : public control::NodeLink {
 public:
  NodeGlue(async::EventLoop& loop, async::Gate& gate, control::Controller& controller,
           std::vector<model::NodeInfo> nodes)
      : loop_(loop), gate_(gate), controller_(controller), nodes_(std::move(nodes)) {}

  void set_agent(agent::Agent* agent) { agent_ = agent; }
  void send(model::NodeOrders orders) override;
  agent::AgentEvents events();
  // Gives the notice, and brings the node back when its time is over. A daemon that starts
  // meanwhile brings it back at once.
  Async<void> preempt(control::Preemption what);

 private:
  Async<void> take_away(control::Preemption what);
  void join(model::NodeInventory inventory);
  void tell(const NodeId& node, const Incarnation& incarnation,
            std::variant<node::Inventory, node::Report, node::GoodBye> what);

  async::EventLoop& loop_;
  async::Gate& gate_;
  control::Controller& controller_;
  std::vector<model::NodeInfo> nodes_;
  agent::Agent* agent_ = nullptr;
  std::int64_t messages_up_ = 0;
  std::map<NodeId, std::int64_t> taken_;  // The sequence of the newest orders to each node.
};

// The agent's files as the API's source of output.
class LogGlue final : public control::LogSource {
 public:
  explicit LogGlue(agent::Agent& agent) : agent_(agent) {}
  Async<model::LogPage> read(model::LogFilter filter, std::string cursor) override;
  Async<void> changed(JobId job, async::StopToken stop) override;
  Async<model::MetricPage> read_metrics(model::MetricFilter filter) override;
  Async<std::vector<model::TaskUsage>> read_usage(JobId job) override;

 private:
  agent::Agent& agent_;
};

}  // namespace runnel::cli
