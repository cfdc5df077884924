#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/agenda.h"
#include "brain/brain.h"
#include "brain/order_book.h"
#include "model/event.h"
#include "model/input.h"
#include "sim/dice.h"
#include "sim/history.h"
#include "sim/invariants.h"
#include "sim/node.h"
#include "sim/scenario.h"

namespace runnel::sim {

// What is on the simulated disk: survives every crash.
struct DurableLog {
  struct Batch {
    model::Input input;
    Time now;
    std::vector<model::Event> events;
  };
  std::vector<Batch> batches;
  std::vector<model::Event> events;  // All of them, flat.
  std::map<JobId, std::string> archive;
  std::int64_t epoch = 0;
  std::uint64_t jobs_made = 0;
  bool full = false;  // No append succeeds now.
};

// The home daemon of the simulation: the real brain and order book over a log that commits in
// groups, node leases and a wake timer. Same rules as control::Controller and LogWriter: nothing
// leaves before its batch is durable; a failed append drops the brain and goes back to what is
// durable, and what nodes said is decided again; a node gets the full difference when it joins and
// otherwise what events call for, no more, so that an order that is forgotten stays forgotten.
class SimControl {
 public:
  using Reply = std::function<void(const brain::Decision&)>;
  struct Wiring {
    Agenda* agenda = nullptr;
    DurableLog* log = nullptr;
    Seen* seen = nullptr;  // The watcher's eyes.
    Invariants* invariants = nullptr;
    std::string* violation = nullptr;
    std::function<void(std::size_t node, model::NodeOrders)> send;
    std::map<NodeId, std::size_t>* node_index = nullptr;
    const std::set<NodeId>* declared =
        nullptr;  // The nodes of the home's file, read at each start.
  };

  SimControl(const Scenario& scenario, Wiring wiring);

  void start();
  bool up() const { return brain_ != nullptr; }
  // Grows with each start: what was on its way to a daemon that died is lost.
  std::int64_t life() const { return life_; }
  bool awake() const { return up() && agenda_.now() >= frozen_until_; }
  const brain::State& state() const { return brain_->state(); }
  // Whether the log holds all that was decided.
  bool settled() const { return pending_.empty(); }

  // From clients. False: nobody listens, or it answers nothing now.
  bool submit(const std::string& key, std::shared_ptr<const model::JobSpec> spec, Reply reply);
  bool request(model::JobRequest request, Reply reply);
  bool call(model::TrialCall call, Reply reply);
  // From nodes.
  void receive(const Heartbeat& beat);
  // A cloud wants the node back.
  void give_notice(const NodeId& node, Duration notice);
  // A message to the node was lost: its connection is gone, and it joins again.
  void lose_link(const NodeId& node) { linked_.erase(node); }

  // Faults.
  void crash(Duration down, bool torn);
  void freeze(Duration lasts);
  void jump_clock(Duration by) { skew_ = skew_ + by; }

 private:
  struct Pending {
    DurableLog::Batch batch;
    brain::Decision decision;
    Reply reply;
  };

  // What a node said, until it is durable.
  struct Told {
    model::Input input;
    Reply durable;
  };

  void take(model::Input input, Reply reply);
  void decide_told(Told told);
  void decide_again();
  bool fenced(const Heartbeat& beat);
  void join(const Heartbeat& beat);
  void report(const Heartbeat& beat);
  void answer(std::function<model::NodeOrders()> build);
  void read_snapshot();
  void bring_record(model::JobRequest& request) const;
  void decide(model::Input input, Reply reply);
  void begin_commit();
  void finish_commit();
  void fail_commit();
  void archive(const Pending& done);
  void publish(const DurableLog::Batch& batch, std::int64_t first_event);
  void send(model::NodeOrders orders);
  void arm_wake(Duration least);
  void wake();
  void keep_nodes();
  void check_leases();
  void check_overdue();
  void fold();
  Time wall() const { return base_ + (agenda_.now() - started_); }
  void later(Duration delay, std::function<void()> what);

  Agenda& agenda_;
  DurableLog& log_;
  Seen& seen_;
  Invariants& invariants_;
  std::string& violation_;
  std::function<void(std::size_t, model::NodeOrders)> send_;
  std::map<NodeId, std::size_t>& node_index_;
  const std::set<NodeId>& declared_;
  Dice dice_;
  const brain::Limits limits_;
  Duration skew_;

  brain::State folded_;  // What the first folded_batches_ of the log amount to.
  std::size_t folded_batches_ = 0;
  std::unique_ptr<brain::Brain> brain_;
  std::optional<brain::OrderBook> orders_;
  std::vector<Pending> pending_;  // Decided, not durable; the first committing_ of them in flight.
  std::size_t committing_ = 0;
  std::int64_t life_ = 0;
  std::int64_t sequence_ = 0;
  std::map<NodeId, std::int64_t> fences_;  // Of nodes that are about to join: see fenced().
  Time frozen_until_;
  Time now_max_;
  Time base_;     // What the time was when this life began, and
  Time started_;  // when that was by the clock since boot.
  Time wake_at_;
  Time troubled_at_;                         // When it last could not do what it should.
  std::vector<Told> again_;                  // Waits for the disk to be tried again.
  bool waiting_ = false;                     // It does, and users are refused.
  std::set<NodeId> linked_;                  // Joined in this life, and lost no message since.
  std::map<NodeId, std::int64_t> taken_;     // The newest message of each node.
  std::map<NodeId, Time> heard_;             // By the observer's own clock, which no fault moves.
  std::vector<std::function<void()>> held_;  // Arrived while frozen.
};

}  // namespace runnel::sim
