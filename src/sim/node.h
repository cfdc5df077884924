#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/agenda.h"
#include "model/node.h"
#include "model/order.h"
#include "node/core.h"
#include "node/message.h"
#include "sim/dice.h"
#include "sim/runner.h"
#include "sim/truth.h"

namespace runnel::sim {

// A node of the simulation: the shipped core of a node over a simulated runner and network, with
// preparations that take their time and may fail.
class SimNode {
 public:
  struct Wiring {
    Agenda* agenda = nullptr;
    Truth* truth = nullptr;
    const std::vector<JobId>* jobs = nullptr;  // That there are: whom a liar may speak of.
    std::function<void(node::Up)> send;        // Into the network.
  };

  SimNode(model::NodeInfo info, std::uint64_t seed, Wiring wiring);

  // All nodes that have one runner, and so are one machine, this one among them.
  void share_runner(std::vector<SimNode*> nodes);
  void start();
  void receive(model::NodeOrders orders);

  // Faults.
  // With all that runs on any of its nodes.
  void kill_runner();
  void reboot(Duration down);
  void freeze(Duration lasts);
  void preempt(Duration gone);
  void remove();
  // It has so much from its next join on, and as much of all else in proportion.
  void resize(std::int64_t milli_cpus);
  // It takes nothing new, or nothing with devices, from its next join on; or does again.
  void hold_back(bool devices_only);
  // One of its devices vanishes; what runs with it fails at once, or does not notice.
  void lose_device(Duration lasts);
  void lie();
  // Ranks that run or begin within this time have the problem.
  void give_problem(model::HealthProblem problem, Duration lasts) {
    runner_.give_problem(problem, lasts);
  }

  bool idle() const { return runner_.idle() && core_.idle(); }
  const model::NodeInfo& info() const { return info_; }
  std::string describe() const { return info_.id.str() + ": life " + runner_.describe(); }

 private:
  using Action = std::function<void()>;

  bool awake() const { return up_ && agenda_.now() >= frozen_until_; }
  // Now, or in order once the node is awake; never in another life of it.
  void act(Action what);
  void act_after(Duration delay, Action what);
  void meet_after(Duration delay);
  void meet();
  void perform(node::NodeCore::Work work);
  void prepare(node::NodeCore::Preparation preparation);
  void end_preparation(const node::NodeCore::Preparation& preparation, bool is_well);
  // No other attempt of its task is made ready on this machine.
  void check_alone(const model::AttemptRef& attempt) const;
  node::NodeCore core_of(const node::Stamp& last);
  bool has_beside(const model::AttemptRef& attempt) const;
  void hand_over();
  void take_turns();
  void hear(const node::News& news);
  std::optional<model::DeviceReport> look_at_devices() const;
  void tell_devices();
  void tell_soon(node::News news);
  void tell();
  void beat();
  void send(node::Up message);
  void send(std::vector<node::Up> messages);
  void go_down();

  model::NodeInfo info_;
  Agenda& agenda_;
  Truth& truth_;
  const std::vector<JobId>* jobs_;
  std::function<void(node::Up)> send_;
  Dice dice_;
  node::NodeLimits limits_;
  SimRunner runner_;
  node::NodeCore core_;
  std::vector<SimNode*> machine_ = {this};
  std::multiset<model::AttemptRef> preparing_;            // Being made ready, wanted or not.
  std::map<model::AttemptRef, model::StartOrder> ready_;  // Until their turn comes.
  bool tells_soon_ = false;
  node::UpSequence sent_;  // Kept over its lives.
  std::int64_t life_ = 0;
  std::int64_t meetings_ = 0;
  bool up_ = true;
  bool removed_ = false;
  std::map<std::int64_t, model::MissingDevice>
      missing_;  // By index: of the machine, not of a life.
  Time frozen_until_;
  std::vector<Action> held_;  // What came while it was frozen.
};

}  // namespace runnel::sim
