#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "control/api/host.h"
#include "control/controller.h"
#include "control/log_source.h"
#include "control/node_link.h"
#include "home/daemon_log.h"
#include "home/say.h"

namespace runnel::home {

// Ties control and agent of one process together: orders down, messages up. Neither knows the
// other; this is what a network connection does where they are apart.
//
// Threads:  the loop's only.
// Lifetime: control, agent, gate and lines outlive it; the gate is closed before it goes.
class NodeGlue final : public control::NodeLink {
 public:
  NodeGlue(async::EventLoop& loop, async::Gate& gate, control::Controller& controller, Say say,
           DaemonLog& lines)
      : loop_(loop), gate_(gate), controller_(controller), say_(std::move(say)), lines_(lines) {}

  void set_agent(agent::Agent* agent) { agent_ = agent; }
  void send(model::NodeOrders orders) override;
  agent::AgentEvents events();
  // Gives the notice, and brings the node back when its time is over. A daemon that starts
  // meanwhile brings it back at once.
  Async<void> preempt(control::Preemption what);
  // Whether a node has its notice, or is not back yet.
  bool has_preempted() const { return preempted_ > 0; }

 private:
  void tell_loss(const std::string& reason);
  Async<void> take_away(control::Preemption what);

  async::EventLoop& loop_;
  async::Gate& gate_;
  control::Controller& controller_;
  const Say say_;
  DaemonLog& lines_;
  std::string loss_;  // The reason that was told last.
  Duration loss_told_at_;
  agent::Agent* agent_ = nullptr;
  int preempted_ = 0;
};

// The agent's files as the API's source of output: they are those of all nodes of the home.
class LogGlue final : public control::LogSource {
 public:
  explicit LogGlue(agent::Agent& agent) : agent_(agent) {}
  Async<model::LogPage> read(NodeIds nodes, model::LogFilter filter, std::string cursor) override;
  Async<void> changed(NodeIds nodes, JobId job, async::StopToken stop) override;
  Async<model::MetricPage> read_metrics(NodeIds nodes, model::MetricFilter filter) override;
  Async<std::vector<model::TaskUsage>> read_usage(NodeIds nodes, JobId job) override;

 private:
  agent::Agent& agent_;
};

}  // namespace runnel::home
