#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/agenda.h"
#include "model/node.h"
#include "model/order.h"
#include "model/report.h"
#include "node/message.h"
#include "sim/dice.h"
#include "sim/truth.h"

namespace runnel::sim {

// A node's runner over virtual processes: runs the attempts of a lane one after the other and keeps
// exit records until it may drop them. What the node's watches would find in the files of its
// processes, it tells as well.
class SimRunner {
 public:
  struct Wiring {
    Agenda* agenda = nullptr;
    Truth* truth = nullptr;
    std::function<void(node::News)> tell;  // As it happens.
    std::function<void()> on_death;        // It is there again, in another life, once this returns.
  };

  SimRunner(NodeId node, std::uint64_t seed, Wiring wiring);

  // All nodes' that are one process, this one among them.
  void share(std::vector<SimRunner*> nodes) { nodes_ = std::move(nodes); }

  void start(const model::StartOrder& order);
  void stop(const model::StopOrder& order);
  // The exit record of an attempt that has ended.
  void drop(const model::AttemptRef& attempt);
  // Looks at the attempt from now on, and tells what there is to see already.
  void watch(const model::AttemptRef& attempt, const model::HealthPolicy& policy);
  void watch_nothing() { watched_.clear(); }

  Incarnation life() const;
  bool idle() const { return attempts_.empty() && left_over_.empty(); }
  // All that it has, and what the crash before took from the nodes it shares its process with.
  node::Inventory inventory(const model::NodeInfo& node) const;
  std::string describe() const;

  // Faults.
  // With all that runs on any of its nodes.
  void kill();
  // The node goes down with all that it has.
  void go_down();
  void come_up() { up_ = true; }
  // Ranks that run or begin within this time have the problem.
  void give_problem(model::HealthProblem problem, Duration lasts);
  // What runs with this device fails.
  void fail_with(std::int64_t device);

 private:
  enum class Phase : std::uint8_t { kWaiting, kRunning, kEnded };
  struct Rank {
    bool ended = false;
    model::RankReport report;
  };
  struct Attempt {
    model::StartOrder order;
    Phase phase = Phase::kWaiting;
    std::map<std::int32_t, Rank> ranks;
    std::vector<model::MetricReport> metrics;  // A trial's metrics file.
    std::vector<model::HealthReport> health;   // What a look at it would tell.
    std::set<std::int32_t> hung;
    bool stopping = false;
  };

  void tell_ranks(const Attempt& attempt);
  void run_next(LaneId lane);
  void run(Attempt& attempt);
  void check_devices(const Attempt& attempt);
  void check_alone(const Attempt& attempt);
  // Another attempt of its task that runs on this node, of which nobody lied.
  std::optional<model::AttemptRef> running_beside(const model::AttemptRef& ref) const;
  static std::vector<std::string> devices_in_use(const Attempt& attempt);
  void plan_poison(const Attempt& attempt);
  void poison(const model::AttemptRef& by);
  void plan_reports(const Attempt& attempt);
  void see_report(const model::MetricReport& report);
  static std::vector<model::MetricReport> close_metrics(Attempt& attempt);
  void plan_end(const Attempt& attempt, std::int32_t rank);
  void end_rank(const model::AttemptRef& attempt, std::int32_t rank, std::int32_t code,
                std::int32_t signal, model::EndCause cause);
  void end_unstarted(Attempt& attempt, model::EndCause cause);
  void leave_lane(const Attempt& attempt);
  void give_problem(Attempt& attempt, model::HealthProblem problem, Duration lasts);
  void hang(const Attempt& attempt, std::int32_t rank, Duration lasts);
  void see_later(Duration delay, const model::HealthReport& report);
  void see_too_little(Attempt& attempt);
  void see(Attempt& attempt, const model::HealthReport& report);
  bool runs_anything() const;
  void crash(bool idle);
  void begin_life();
  std::vector<model::LostRanks> lost_beside() const;
  void later(Duration delay, std::function<void()> what);

  NodeId node_;
  std::uint64_t seed_;
  Agenda& agenda_;
  Truth& truth_;
  std::function<void(node::News)> tell_;
  std::function<void()> on_death_;
  Dice dice_;
  std::vector<SimRunner*> nodes_ = {this};
  std::int64_t life_ = 1;
  bool up_ = true;
  bool crashed_idle_ = false;  // The life before.
  std::map<model::AttemptRef, Attempt> attempts_;
  std::map<LaneId, std::deque<model::AttemptRef>> lanes_;
  std::vector<model::RankReport> left_over_;  // Records of the life before, until they are dropped.
  std::vector<model::MetricReport> left_metrics_;
  std::map<model::AttemptRef, model::HealthPolicy> watched_;
  std::map<model::HealthProblem, Time> problems_until_;
};

}  // namespace runnel::sim
