#include "sim/world.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/agenda.h"
#include "base/check.h"
#include "brain/brain.h"
#include "brain/decide_again.h"
#include "brain/explain.h"
#include "hash/sha256.h"
#include "node/wire.h"
#include "sim/asker.h"
#include "sim/client.h"
#include "sim/control.h"
#include "sim/history.h"
#include "sim/invariants.h"
#include "sim/node.h"
#include "sim/poison_check.h"

namespace runnel::sim {
namespace {

using model::Status;

// After the last fault everything must have come to its end within this much virtual time.
constexpr Duration kPatience = Duration::minutes(60);
constexpr std::int64_t kTextEvery = 16;
constexpr std::uint64_t kIndexEvery = 8;
// More than any honest schedule needs: a bound against a loop of messages.
constexpr std::int64_t kStepsMax = 2'000'000;

struct Network {
  Time storm_until;
  std::vector<Time> cut_until;
  std::vector<Time> arrival_down;  // When the last message to each node arrives,
  std::vector<Time> arrival_up;    // and from it.
};

class World {
 public:
  World(const Scenario& scenario, Depth depth)
      : scenario_(scenario),
        depth_(depth),
        dice_(scenario.seed ^ 0x5EED),
        network_{Time(), std::vector<Time>(scenario.nodes.size()),
                 std::vector<Time>(scenario.nodes.size()),
                 std::vector<Time>(scenario.nodes.size())},
        control_(scenario, wiring()),
        clients_(scenario, {&agenda_, &control_, &seen_}),
        askers_(scenario, {&agenda_, &control_, &seen_, &truth_}) {
    for (std::size_t index = 0; index < scenario.nodes.size(); ++index) {
      node_index_[scenario.nodes[index].id] = index;
      nodes_.push_back(std::make_unique<SimNode>(
          scenario.nodes[index], scenario.seed,
          SimNode::Wiring{
              &agenda_, &truth_, &control_.disk().jobs(),
              [this, index](node::Up message) { to_control(index, std::move(message)); }}));
    }
    share_runners();
    for (const auto& node : nodes_) declared_[node->info().id] = node->info();
  }

  std::vector<store::Batch> log() const {
    std::vector<store::Batch> batches;
    for (const auto& [seq, batch] : control_.disk().storage().batches) batches.push_back(batch);
    return batches;
  }

  Verdict run() {
    control_.start();
    for (auto& node : nodes_) node->start();
    for (const Fault& fault : scenario_.faults) {
      agenda_.at(fault.at, [this, &fault] { strike(fault); });
    }
    clients_.start();
    askers_.start();
    const Time last =
        std::max(scenario_.faults_end, agenda_.now() + Duration::seconds(15)) + kPatience;
    std::int64_t steps = 0;
    while (violation_.empty() && agenda_.now() < last && !(after_faults() && quiet())) {
      if (++steps > kStepsMax) violation_ = "no end after " + std::to_string(steps) + " steps";
      agenda_.step();
      if (!truth_.violation.empty()) violation_ = truth_.violation;
    }
    if (violation_.empty()) violation_ = check_end();
    return verdict(steps);
  }

 private:
  SimControl::Wiring wiring() {
    return {
        &agenda_,
        &seen_,
        &invariants_,
        &violation_,
        [this](std::size_t node, model::NodeOrders orders) { to_node(node, std::move(orders)); },
        &node_index_,
        &declared_};
  }

  // How many copies of a message arrive, and when each does.
  std::vector<Duration> copies(std::size_t node) {
    if (agenda_.now() < network_.cut_until[node]) return {};
    if (agenda_.now() >= network_.storm_until) return {Duration::millis(dice_.between(0, 3))};
    std::vector<Duration> delays;
    if (!dice_.chance(300)) delays.push_back(Duration::millis(dice_.between(0, 800)));
    if (dice_.chance(300)) delays.push_back(Duration::millis(dice_.between(0, 2'000)));
    return delays;
  }

  // Some messages travel as their text.
  template <typename T>
  std::shared_ptr<const T> on_the_wire(T message, Result<T> (*decode)(std::string_view)) {
    if (++messages_ % kTextEvery != 0) return std::make_shared<const T>(std::move(message));
    return std::make_shared<const T>(MUST(decode(node::encode_text(message))));
  }

  // What comes, comes in order, except in a storm.
  void deliver(Duration delay, Time& last_arrival, std::function<void()> what) {
    Time arrival = agenda_.now() + delay;
    if (agenda_.now() >= network_.storm_until) arrival = std::max(last_arrival, arrival);
    last_arrival = std::max(last_arrival, arrival);
    agenda_.at(arrival, std::move(what));
  }

  void to_control(std::size_t node, node::Up message) {
    const auto sent = on_the_wire(std::move(message), node::decode_up);
    for (Duration delay : copies(node)) {
      deliver(delay, network_.arrival_up[node], [this, sent, life = control_.life()] {
        if (life == control_.life()) control_.receive(sent);
      });
    }
  }

  // What is lost ends the connection.
  void to_node(std::size_t node, model::NodeOrders orders) {
    const auto sent = on_the_wire(std::move(orders), node::decode_orders);
    const std::vector<Duration> delays = copies(node);
    if (delays.empty()) control_.lose_link(sent->node);
    for (Duration delay : delays) {
      deliver(delay, network_.arrival_down[node],
              [this, node, sent] { nodes_[node]->receive(*sent); });
    }
  }

  void strike(const Fault& fault) {
    cover(fault.kind);
    const bool looks = control_.up() && violation_.empty();
    // Too slow for every schedule.
    if (looks && scenario_.seed % kIndexEvery == 0) violation_ = check_index();
    if (looks && depth_ == Depth::kAll && violation_.empty()) violation_ = check_explained();
    SimNode& node = *nodes_[fault.node];
    const Time until = agenda_.now() + fault.lasts;
    switch (fault.kind) {
      case FaultKind::kControlCrash: return control_.crash(fault.lasts, false);
      case FaultKind::kTornTail: return control_.crash(fault.lasts, true);
      case FaultKind::kControlFreeze: return control_.freeze(fault.lasts);
      case FaultKind::kDiskFull:
        control_.disk().fill();
        return agenda_.after(fault.lasts, [this] { control_.disk().clear(); });
      case FaultKind::kDiskFails: return fail_disk(fault.lasts);
      case FaultKind::kDiskSlow: return control_.slow_disk(fault.lasts);
      case FaultKind::kRunnerKill: return node.kill_runner();
      case FaultKind::kNodeReboot: return node.reboot(fault.lasts);
      case FaultKind::kNodeFreeze: return node.freeze(fault.lasts);
      case FaultKind::kPartition:
        network_.cut_until[fault.node] = std::max(network_.cut_until[fault.node], until);
        return;
      case FaultKind::kStorm: network_.storm_until = std::max(network_.storm_until, until); return;
      case FaultKind::kLyingNode: return node.lie();
      case FaultKind::kPreemption: return preempt(node, fault.lasts);
      case FaultKind::kClientCrash: askers_.crash(); return clients_.crash();
      case FaultKind::kNodeRemoved:
        node.remove();
        declared_.erase(node.info().id);
        return control_.crash(fault.lasts, false);
      case FaultKind::kNodeLost:
        node.remove();
        if (dice_.chance(500)) control_.crash(fault.lasts, false);
        return;
      case FaultKind::kNodeResized:
        node.resize(dice_.between(1, 8) * 500);
        declare(node);
        return control_.crash(fault.lasts, false);
      case FaultKind::kNodeDrained:
        node.hold_back(dice_.chance(500));
        declare(node);
        return control_.crash(fault.lasts, false);
      case FaultKind::kHungRank: return node.give_problem(model::HealthProblem::kHung, fault.lasts);
      case FaultKind::kNotFinite:
        return node.give_problem(model::HealthProblem::kNotFinite, fault.lasts);
      case FaultKind::kSlowRank: return node.give_problem(model::HealthProblem::kSlow, fault.lasts);
      case FaultKind::kDeviceLost: return node.lose_device(fault.lasts);
      case FaultKind::kClockJump:
        return control_.jump_clock(Duration::millis(dice_.between(-3'600'000, 3'600'000)));
    }
  }

  // At times it is slow before.
  void fail_disk(Duration lasts) {
    CHECK(lasts > Duration(), "a disk that fails is gone for a while");
    const Duration slow = Duration::millis(dice_.chance(500) ? lasts.millis() / 2 : 0);
    if (slow > Duration()) control_.slow_disk(slow);
    agenda_.after(slow, [this, gone = lasts - slow] { lose_disk(gone); });
  }

  // The disk's part of the append is all there, or to be dropped, or nothing.
  void lose_disk(Duration gone) {
    constexpr std::array kFaults = {store::AppendFault::kIo, store::AppendFault::kTorn,
                                    store::AppendFault::kKept};
    control_.disk().fail_next(dice_.pick<store::AppendFault>(kFaults));
    control_.disk().set_away(true);
    agenda_.after(gone, [this] { control_.disk().set_away(false); });
  }

  // With a notice, or without.
  void preempt(SimNode& node, Duration gone) {
    CHECK(gone > Duration(), "a node that is taken away is gone for a while");
    if (dice_.chance(500)) return node.preempt(gone);
    const Duration notice = Duration::millis(dice_.between(0, 5'000));
    control_.give_notice(node.info().id, notice);
    agenda_.after(notice, [&node, gone] { node.preempt(gone); });
  }

  void share_runners() {
    std::map<std::string, std::vector<SimNode*>> runners;
    for (const auto& node : nodes_) {
      if (!node->info().runner.empty()) runners[node->info().runner].push_back(node.get());
    }
    for (const auto& [runner, nodes] : runners) {
      for (SimNode* node : nodes) node->share_runner(nodes);
    }
  }

  // Who was removed stays away.
  void declare(const SimNode& node) {
    const auto declared = declared_.find(node.info().id);
    if (declared != declared_.end()) declared->second = node.info();
  }

  void cover(FaultKind kind) {
    if (!control_.up()) return;
    for (const auto& [id, job] : control_.state().jobs) {
      for (const brain::Step& step : job.steps) {
        for (std::size_t status = 0; status < step.counts.size(); ++status) {
          coverage_[static_cast<std::size_t>(kind)][status] += step.counts[status];
        }
      }
    }
  }

  bool after_faults() const { return agenda_.now() >= scenario_.faults_end && clients_.done(); }

  static bool settled(const brain::Job& job) {
    return model::is_end(job.status) || job.status == Status::kPaused;
  }

  bool quiet() const {
    if (!control_.awake() || !control_.settled() || control_.disk().full()) return false;
    for (const auto& [id, job] : control_.state().jobs) {
      if (!settled(job)) return false;
    }
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->idle(); });
  }

  std::string check_end() {
    if (!control_.up()) return "the control is not back at the end";
    for (const auto& [id, job] : control_.state().jobs) {
      if (!settled(job)) return "job " + id.str() + " did not come to its end: " + why(id);
    }
    for (const auto& node : nodes_) {
      if (!node->idle()) return "left behind on " + node->describe();
    }
    if (!clients_.done()) return "a client has no answer";
    if (std::string broken = check_index(); !broken.empty()) return broken;
    if (std::string broken = check_explained(); !broken.empty()) return broken;
    if (std::string broken = check_truth(); !broken.empty()) return broken;
    if (std::string broken = check_results(truth_, events()); !broken.empty()) return broken;
    if (std::string broken = check_exit_codes(); !broken.empty()) return broken;
    if (std::string broken = check_warnings(); !broken.empty()) return broken;
    if (std::string broken = check_poison(scenario_, truth_, events()); !broken.empty()) {
      return broken;
    }
    if (std::string broken = check_history(seen_, events()); !broken.empty()) return broken;
    const store::MemoryStorage& storage = control_.disk().storage();
    if (std::string broken = check_shown(seen_, storage.batches); !broken.empty()) return broken;
    return depth_ == Depth::kAll ? check_replay() : "";
  }

  std::string why(const JobId& job) const {
    std::string text;
    auto waits = control_.brain().explain(job, agenda_.now());
    if (!waits.ok()) return waits.error().message;
    for (const brain::Wait& wait : waits.value()) text += wait.reason + ": " + wait.message + "; ";
    return text;
  }

  // What decisions look up is what the state says.
  std::string check_index() const {
    const std::string part = control_.brain().check_index();
    return part.empty() ? "" : "the index has not what the state says: " + part;
  }

  // A user who asks why a job is not done is told, step by step.
  std::string check_explained() const {
    for (const auto& [id, job] : control_.state().jobs) {
      auto waits = control_.brain().explain(id, agenda_.now());
      if (!waits.ok()) return "job " + id.str() + " is not explained: " + waits.error().message;
      std::size_t unfinished = 0;
      for (const brain::Step& step : job.steps) unfinished += model::is_end(step.status) ? 0 : 1;
      if (!model::is_end(job.status) && waits->size() != unfinished) {
        return "job " + id.str() + " has steps that wait for no reason";
      }
      for (const brain::Wait& wait : *waits) {
        if (wait.reason.empty() || wait.message.empty()) {
          return "a step of job " + id.str() + " waits without a reason";
        }
      }
    }
    return "";
  }

  // The exit code that a failure is told with is the one that the process left with.
  std::string check_exit_codes() const {
    for (const model::Event& event : events()) {
      const auto* ended = std::get_if<model::AttemptEnded>(&event);
      if (ended == nullptr || ended->to != Status::kFailed) continue;
      if (truth_.lied_about.contains(ended->attempt)) continue;
      for (const model::RankExit& exit : ended->exits) {
        const auto exited = truth_.exited.find({ended->attempt, exit.rank});
        if (exit.signal != 0 || (exited != truth_.exited.end() && exited->second == exit.code)) {
          continue;
        }
        return "attempt " + model::to_string(ended->attempt) + " is told to have left with " +
               std::to_string(exit.code) + " and did not";
      }
    }
    return "";
  }

  // The rank that was named had that problem.
  std::string check_warnings() const {
    for (const model::Event& event : events()) {
      const auto* warned = std::get_if<model::TaskWarned>(&event);
      if (warned == nullptr || truth_.lied_about.contains(warned->attempt)) continue;
      const bool ended_without = warned->reason == model::HealthProblem::kMetricMissing &&
                                 !truth_.said.contains(warned->attempt);
      if (ended_without) continue;
      if (truth_.problems.contains({warned->attempt, warned->rank, warned->reason})) continue;
      return "rank " + std::to_string(warned->rank) + " of " + model::to_string(warned->attempt) +
             " is said to have a problem (" + std::string(to_string(warned->reason)) +
             ") and is well";
    }
    return "";
  }

  // A task that counts as succeeded really left with 0, all its ranks of that attempt.
  std::string check_truth() const {
    std::map<JobId, std::shared_ptr<const model::JobSpec>> specs;
    for (const model::Event& event : events()) {
      const auto* submitted = std::get_if<model::JobSubmitted>(&event);
      if (submitted != nullptr) specs[submitted->job] = submitted->spec;
      const auto* ended = std::get_if<model::AttemptEnded>(&event);
      if (ended == nullptr || ended->task != Status::kSucceeded) continue;
      if (truth_.lied_about.contains(ended->attempt)) continue;
      const model::TaskRef& task = ended->attempt.task;
      const auto step = static_cast<std::size_t>(task.step.value());
      const std::int32_t ranks = specs.at(task.job)->steps.at(step).rank_count();
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        auto exited = truth_.exited.find({ended->attempt, rank});
        if (exited == truth_.exited.end() || exited->second != 0) {
          return "attempt " + model::to_string(ended->attempt) + " counts as succeeded and did not";
        }
      }
    }
    return "";
  }

  // Deciding the inputs of the log's text again gives the same text, and folding it the same state.
  std::string check_replay() const {
    brain::Brain again({}, scenario_.limits);
    for (const auto& [seq, batch] : control_.disk().storage().batches) {
      const auto events = brain::decide_again(again, batch.input, batch.now);
      if (!events.ok()) return "the log is not understood: " + events.error().to_string();
      if (*events != batch.events) return "a replay decided otherwise";
    }
    if (brain::encode_state(again.state()) != brain::encode_state(control_.state())) {
      return "a replay led to another state";
    }
    return "";
  }

  const std::vector<model::Event>& events() const { return control_.disk().events(); }

  Verdict verdict(std::int64_t steps) const {
    Verdict verdict{violation_,
                    control_.disk().hash(),
                    "",
                    static_cast<std::int64_t>(events().size()),
                    steps,
                    coverage_,
                    truth_.devices,
                    count_quarantine(events()),
                    count_apart(truth_, events(), scenario_.poisoned()),
                    count_reach(events(), truth_)};
    for (const model::Event& event : events()) {
      const auto* joined = std::get_if<model::NodeJoined>(&event);
      if (joined != nullptr) {
        verdict.devices.strangers += static_cast<std::int64_t>(joined->strangers.size());
      }
    }
    if (depth_ == Depth::kAll && control_.up()) {
      verdict.state_hash = hash::sha256_hex(brain::encode_state(control_.state()));
    }
    return verdict;
  }

  const Scenario& scenario_;
  Depth depth_;
  Agenda agenda_;
  Dice dice_;
  Network network_;
  Seen seen_;
  Truth truth_;
  Invariants invariants_;
  Coverage coverage_{};
  std::string violation_;
  std::int64_t messages_ = 0;
  std::map<NodeId, std::size_t> node_index_;
  std::map<NodeId, model::NodeInfo> declared_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  SimControl control_;
  Clients clients_;
  Askers askers_;
};

}  // namespace

Verdict run(const Scenario& scenario, Depth depth, std::vector<store::Batch>* log) {
  World world(scenario, depth);
  Verdict verdict = world.run();
  if (log != nullptr) *log = world.log();
  return verdict;
}

}  // namespace runnel::sim
