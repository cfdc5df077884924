#include "home/node_glue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/leftovers.h"
#include "env/clock.h"

namespace runnel::home {

namespace {

constexpr Duration kLossAgain = Duration::minutes(1);
constexpr Duration kReaped = Duration::millis(500);

Async<agent::Leftovers> leftovers_of(control::Controller* control, std::vector<JobId> jobs) {
  control::Leftovers found = CO_TRY(co_await control::leftovers(control, std::move(jobs)));
  co_return agent::Leftovers{std::move(found.deleted), std::move(found.unknown)};
}

}  // namespace

void NodeGlue::send(model::NodeOrders orders) {
  if (agent_ == nullptr) return;  // It joins later and gets the whole difference.
  const Result<void> applied = agent_->apply(std::move(orders));
  // Only a daemon that lost its term is refused, and that one is about to end.
  (void)applied;
}

agent::AgentEvents NodeGlue::events() {
  agent::AgentEvents events;
  events.on_message = [this](node::Up message) { controller_.nodes().hear(std::move(message)); };
  // The next join tells what is lost of its work.
  events.on_runner_lost = [this](const std::string& reason) { tell_loss(reason); };
  events.on_notice = say_;
  events.leftovers = [this](std::vector<JobId> jobs) {
    return leftovers_of(&controller_, std::move(jobs));
  };
  return events;
}

// An agent says so at each attempt to meet a runner, of which there is one or more a second.
void NodeGlue::tell_loss(const std::string& reason) {
  const Duration now = env::real_clock().boot();
  if (reason == loss_ && now < loss_told_at_ + kLossAgain) return;
  loss_ = reason;
  loss_told_at_ = now;
  lines_.add(LogLevel::kWarning, "runner", "the runner is not there: " + reason);
}

Async<void> NodeGlue::preempt(control::Preemption what) {
  CO_TRY(co_await controller_.nodes().give_notice(what.node, what.notice));
  co_return loop_.spawn(gate_, take_away(std::move(what)));
}

Async<void> NodeGlue::take_away(control::Preemption what) {
  ++preempted_;
  CO_TRY(co_await loop_.sleep(what.notice, gate_.token()));
  CHECK(agent_ != nullptr, "a node is taken away before its agent is there");
  agent_->take_away(what.node);
  // What was killed is reaped and told before anything else may run there.
  CO_TRY(co_await loop_.sleep(std::max(what.away, kReaped), gate_.token()));
  agent_->bring_back(what.node);
  --preempted_;
  co_return {};
}

Async<model::LogPage> LogGlue::read(NodeIds, model::LogFilter filter, std::string cursor) {
  return agent_.output().log(filter, std::move(cursor));
}

Async<model::MetricPage> LogGlue::read_metrics(NodeIds, model::MetricFilter filter) {
  return agent_.output().metrics(std::move(filter));
}

Async<std::vector<model::TaskUsage>> LogGlue::read_usage(NodeIds, JobId job) {
  constexpr Duration kWindow = Duration::millis(500);  // The kernel counts in hundredths.
  return agent_.read_usage(job, kWindow);
}

Async<void> LogGlue::changed(NodeIds, JobId job, async::StopToken stop) {
  return agent_.log_changed(job, std::move(stop));
}

}  // namespace runnel::home
