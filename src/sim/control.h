#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/async.h"
#include "base/agenda.h"
#include "brain/state.h"
#include "control/controller.h"
#include "control/node_link.h"
#include "model/input.h"
#include "sim/daemon.h"
#include "sim/daemon_clock.h"
#include "sim/dice.h"
#include "sim/disk.h"
#include "sim/history.h"
#include "sim/invariants.h"
#include "sim/kept_fold.h"
#include "sim/kept_secrets.h"
#include "sim/message_check.h"
#include "sim/scenario.h"
#include "sim/truth.h"

namespace runnel::sim {

// Hosts the shipped control in the simulation: life after life of the home daemon over one disk,
// what comes to it from clients and nodes, and its faults.
class SimControl {
 public:
  using Reply = std::function<void(const control::Outcome&)>;
  struct Wiring {
    Agenda* agenda = nullptr;
    Seen* seen = nullptr;  // The watcher's eyes.
    Invariants* invariants = nullptr;
    std::string* violation = nullptr;
    std::function<void(std::size_t node, model::NodeOrders)> send;
    std::map<NodeId, std::size_t>* node_index = nullptr;
    const std::map<NodeId, model::NodeInfo>* declared =
        nullptr;  // The nodes of the home's file, read at each start.
  };

  SimControl(const Scenario& scenario, Wiring wiring);
  ~SimControl();
  SimControl(const SimControl&) = delete;
  SimControl& operator=(const SimControl&) = delete;

  void start();
  bool up() const { return daemon_ != nullptr && daemon_->is_open(); }
  // Grows with each start: what was on its way to a daemon that died is lost.
  std::int64_t life() const { return life_; }
  bool awake() const { return up() && agenda_.now() >= frozen_until_; }
  const brain::Brain& brain() const { return daemon_->controller().writer().brain(); }
  const brain::State& state() const { return brain().state(); }
  // Whether the log holds all that was decided.
  bool settled() const;
  Disk& disk() { return disk_; }
  const Disk& disk() const { return disk_; }

  // From clients. Nobody hears it while the daemon is down.
  void submit(const std::string& actor, const std::string& key,
              std::shared_ptr<const model::JobSpec> spec, Reply reply);
  void request(const model::JobRequest& request, Reply reply);
  void call(const model::TrialCall& call, Reply reply);
  // From nodes.
  void receive(std::shared_ptr<const node::Up> message);
  // A cloud wants the node back.
  void give_notice(const NodeId& node, Duration notice);
  // A message to the node was lost: its connection is gone, and it joins again.
  void lose_link(const NodeId& node);

  // Faults.
  // `torn`: in the middle of a commit, which the disk has whole or not at all.
  void crash(Duration down, bool torn);
  void freeze(Duration lasts);
  void slow_disk(Duration lasts);
  void jump_clock(Duration by) { clock_.jump(by); }

 private:
  class Link;

  control::ControllerOptions controller_options();
  Duration latency(std::string_view thread);
  void restart_after(Duration down);
  void opened();
  void note(std::string broken);
  void check_decision(const model::Input& input, const control::DurableBatch& batch,
                      const brain::State& state);
  void ask(std::function<Async<control::Answer>(control::Controller&)> what, Reply reply);
  Async<void> watch();

  Async<void> look_for_overdue();
  std::string find_silent(Time troubled) const;
  std::string check_given_up(const model::NodeLost& lost) const;
  void check_told();
  void hear(std::shared_ptr<const node::Up> message);
  void hear_backlog();
  void check_overdue();

  Agenda& agenda_;
  Seen& seen_;
  Invariants& invariants_;
  std::string& violation_;
  std::function<void(std::size_t, model::NodeOrders)> send_;
  std::map<NodeId, std::size_t>& node_index_;
  const std::map<NodeId, model::NodeInfo>& declared_;
  Dice dice_;
  const brain::Limits limits_;

  DaemonClock clock_;
  Disk disk_;
  KeptFold fold_;
  KeptSecrets secrets_;
  MessageCheck messages_;
  std::shared_ptr<control::HomeTime> time_;
  std::unique_ptr<Link> link_;
  std::shared_ptr<Disk::Cable> cable_;
  std::unique_ptr<Daemon> daemon_;
  std::int64_t life_ = 0;
  Time frozen_until_;
  std::map<NodeId, Time> heard_at_;            // In this life.
  std::map<NodeId, node::UpSequence> newest_;  // That has reached it, heard or not.
  std::map<NodeId, Time> arrived_at_;          // When that did.
  std::vector<std::shared_ptr<const node::Up>> backlog_;
  Time troubled_at_;        // When it last could not do what it should.
  Time slow_until_;         // The disk.
  std::string late_;        // What the last look found overdue,
  Time late_since_;         // and the first look that found it.
  bool is_folded_ = false;  // The state was made anew since nodes were last looked at.
};

}  // namespace runnel::sim
