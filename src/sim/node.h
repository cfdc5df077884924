#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/agenda.h"
#include "model/node.h"
#include "model/order.h"
#include "model/report.h"
#include "node/message.h"
#include "sim/dice.h"

namespace runnel::sim {

// How often what is said of devices was put to the test.
struct DeviceCounts {
  std::int64_t begun = 0;      // Places that began with devices.
  std::int64_t strangers = 0;  // Ranks that a node told of after it was given up.
};

// What really happened, which nobody in the system knows: the measure of what the system believes.
struct Truth {
  std::set<std::pair<model::AttemptRef, std::int32_t>> started;  // (attempt, rank), anywhere.
  std::map<std::pair<model::AttemptRef, std::int32_t>, std::int32_t> exited;  // By itself, code.
  // The step and the first value that a trial's attempt reported last.
  std::map<model::AttemptRef, std::pair<std::int64_t, std::string>> said;
  std::set<model::AttemptRef> lied_about;  // Nothing can be concluded about these.
  std::set<std::tuple<model::AttemptRef, std::int32_t, model::Ailment>> ailing;
  DeviceCounts devices;
  std::map<model::TaskRef, std::int64_t> poisoned;  // Attempts lost to poison, that of others.
  std::int64_t beside_poison = 0;                   // The most attempts that ran beside one.
  std::int64_t killed_by_poison = 0;                // Runners.
  std::string violation;  // A rank that was started twice, a device that two processes have.
};

// A node with its runner: runs lanes in order, keeps exit records until told to forget, obeys only
// newer orders. The same rules as the real agent and runner, over virtual processes.
class SimNode {
 public:
  struct Wiring {
    Agenda* agenda = nullptr;
    Truth* truth = nullptr;
    const std::vector<JobId>* jobs = nullptr;  // That there are: whom a liar may speak of.
    std::function<void(node::Up)> send;        // Into the network.
  };

  SimNode(model::NodeInfo info, std::uint64_t seed, Wiring wiring);

  // All nodes that have one runner, this one among them.
  void share_runner(std::vector<SimNode*> nodes) { runner_nodes_ = std::move(nodes); }
  void start();
  void receive(const model::NodeOrders& orders);

  // Faults.
  // With all that runs on any of its nodes.
  void kill_runner();
  void reboot(Duration down);
  void freeze(Duration lasts);
  void preempt(Duration gone);
  void remove();
  // It has so much from its next join on, and as much of all else in proportion.
  void resize(std::int64_t milli_cpus);
  void lie();
  // Ranks that run or begin within this time have the ailment.
  void ail(model::Ailment ailment, Duration lasts);

  bool idle() const { return attempts_.empty(); }
  const model::NodeInfo& info() const { return info_; }
  std::string describe() const;

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
    std::vector<model::MetricReport> metrics;  // Of a trial: its file.
    std::vector<model::HealthReport> health;   // What a look at it would tell.
    std::set<std::int32_t> hung;
    bool stopping = false;
  };
  using LifeCount = std::int64_t;

  void take_start(const model::StartOrder& order);
  void make_ailing(Attempt& attempt, model::Ailment ailment, Duration lasts);
  void hang(const Attempt& attempt, std::int32_t rank, Duration lasts);
  void see_later(Duration delay, const model::HealthReport& report);
  void see_too_little(Attempt& attempt);
  std::vector<model::HealthReport> health() const;
  void take_stop(const model::StopOrder& order);
  void forget(const model::AttemptRef& attempt);
  void run_next(LaneId lane);
  void run(Attempt& attempt);
  void check_devices(const Attempt& attempt);
  std::vector<std::string> devices_in_use(const Attempt& attempt) const;
  void plan_poison(const Attempt& attempt);
  void poison(const model::AttemptRef& by);
  void plan_reports(const Attempt& attempt);
  void close_metrics(Attempt& attempt);
  // All it has, so that a lost message is made good by the next.
  node::Up heartbeat() const;
  void plan_end(const Attempt& attempt, std::int32_t rank);
  void end_rank(const model::AttemptRef& attempt, std::int32_t rank, std::int32_t code,
                std::int32_t signal, model::EndCause cause);
  void end_unstarted(Attempt& attempt, model::EndCause cause);
  void leave_lane(const Attempt& attempt);
  void new_life();
  bool runs_anything() const;
  void crash(bool idle);
  std::vector<model::LostRanks> lost_beside() const;
  void beat();
  void report_soon();
  void report();
  void send(node::Up message);
  std::vector<model::RankReport> inventory() const;
  std::vector<model::MetricReport> metrics() const;
  void later(Duration delay, std::function<void()> what);
  bool awake() const { return up_ && agenda_.now() >= frozen_until_; }

  model::NodeInfo info_;
  std::uint64_t seed_;
  Agenda& agenda_;
  Truth& truth_;
  const std::vector<JobId>* jobs_;
  std::function<void(node::Up)> send_;
  Dice dice_;
  std::vector<SimNode*> runner_nodes_ = {this};
  LifeCount life_ = 0;
  bool up_ = true;
  bool removed_ = false;
  bool crashed_idle_ = false;  // The life before.
  bool report_planned_ = false;
  Time frozen_until_;
  Epoch epoch_;
  std::int64_t sequence_ = 0;
  std::int64_t up_sent_ = 0;
  std::map<model::AttemptRef, Attempt> attempts_;
  std::map<LaneId, std::deque<model::AttemptRef>> lanes_;
  std::vector<model::RankReport> left_over_;  // Records of the life before, until forgotten.
  std::vector<model::MetricReport> left_metrics_;
  std::vector<model::NodeOrders> held_;  // Arrived while frozen.
  std::map<model::AttemptRef, model::HealthPolicy>
      watched_;  // Whoever gives orders anew says anew.
  std::map<model::Ailment, Time> ailing_until_;
};

}  // namespace runnel::sim
