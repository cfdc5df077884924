#include "sim/control.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "sim/overdue.h"

namespace runnel::sim {
namespace {

constexpr Duration kLease = Duration::millis(3'000);
constexpr Duration kLeaseCheck = Duration::millis(500);
constexpr Duration kRetryAppend = Duration::millis(200);
constexpr Duration kWakeDelayMin = Duration::millis(5);
constexpr Duration kWakeDelayMax = Duration::seconds(30);
// How late may be looked at what was due, when nothing stands in the way.
constexpr Duration kOverdueSlack = Duration::millis(1'000);

brain::Decision disk_is_full() {
  brain::Decision refused;
  refused.refusal = Error(Errc::kFull, "the disk is full");
  return refused;
}

std::vector<model::RankReport> stale_ranks(const brain::State& state,
                                           const std::vector<model::RankReport>& ranks) {
  std::vector<model::RankReport> stale;
  for (const model::RankReport& rank : ranks) {
    if (!brain::is_live(state, rank.attempt)) stale.push_back(rank);
  }
  return stale;
}

}  // namespace

SimControl::SimControl(const Scenario& scenario, Wiring wiring)
    : agenda_(*wiring.agenda),
      log_(*wiring.log),
      seen_(*wiring.seen),
      invariants_(*wiring.invariants),
      violation_(*wiring.violation),
      send_(std::move(wiring.send)),
      node_index_(*wiring.node_index),
      declared_(*wiring.declared),
      dice_(scenario.seed ^ 0xC0117201ULL),
      limits_(scenario.limits) {}

void SimControl::later(Duration delay, std::function<void()> what) {
  agenda_.after(delay, [this, life = life_, what = std::move(what)] {
    if (life != life_) return;
    if (awake()) {
      what();
    } else {
      held_.push_back(what);
    }
  });
}

void SimControl::fold() {
  brain_ = std::make_unique<brain::Brain>(folded_, limits_);
  for (; folded_batches_ < log_.batches.size(); ++folded_batches_) {
    const DurableLog::Batch& batch = log_.batches[folded_batches_];
    brain_->replay(batch.events, batch.now);
    now_max_ = std::max(now_max_, batch.now);
  }
  folded_ = brain_->state();
  orders_.emplace(Epoch(log_.epoch), brain_->state());
  invariants_.restart(log_.events);
}

// A state as it was at some moment, by way of its text.
void SimControl::read_snapshot() {
  brain::Brain brain({}, limits_);
  const auto batches = static_cast<std::int64_t>(log_.batches.size());
  folded_batches_ = static_cast<std::size_t>(dice_.between(0, batches));
  for (std::size_t at = 0; at < folded_batches_; ++at) {
    brain.replay(log_.batches[at].events, log_.batches[at].now);
  }
  folded_ = MUST(brain::decode_state(brain::encode_state(brain.state())));
  now_max_ = folded_.now;
}

void SimControl::start() {
  CHECK(!up(), "a control is started twice");
  ++life_;
  ++log_.epoch;
  sequence_ = 0;
  now_max_ = Time();
  folded_ = {};
  folded_batches_ = 0;
  if (dice_.chance(250)) read_snapshot();
  fold();
  // From here on time is counted by a clock that nobody can set.
  base_ = std::max(now_max_, agenda_.now() + skew_);
  started_ = agenda_.now();
  troubled_at_ = agenda_.now();
  for (std::size_t number = seen_.watched.size(); number < log_.events.size(); ++number) {
    seen_.watched.try_emplace(static_cast<std::int64_t>(number) + 1, log_.events[number]);
  }
  later(Duration(), [this] { decide_told({model::Recovered(), nullptr}); });
  arm_wake(kWakeDelayMin);
  later(Duration(), [this] { keep_nodes(); });
  later(kLeaseCheck, [this] { check_leases(); });
}

void SimControl::crash(Duration down, bool torn) {
  if (!up()) return;
  if (torn && committing_ > 0 && !log_.full) {
    // The power went while the disk was at it: some of the group is there, and nobody was told.
    const auto kept =
        static_cast<std::size_t>(dice_.between(0, static_cast<std::int64_t>(committing_)));
    for (std::size_t each = 0; each < kept; ++each) {
      DurableLog::Batch& batch = pending_[each].batch;
      log_.events.insert(log_.events.end(), batch.events.begin(), batch.events.end());
      log_.batches.push_back(std::move(batch));
    }
  }
  ++life_;
  brain_.reset();
  orders_.reset();
  pending_.clear();
  committing_ = 0;
  held_.clear();
  heard_.clear();
  taken_.clear();
  linked_.clear();
  fences_.clear();
  again_.clear();
  waiting_ = false;
  frozen_until_ = Time();
  wake_at_ = Time();
  agenda_.after(down, [this] {
    if (!up()) start();
  });
}

void SimControl::freeze(Duration lasts) {
  if (!up()) return;
  frozen_until_ = std::max(frozen_until_, agenda_.now() + lasts);
  agenda_.after(lasts, [this, life = life_] {
    if (life != life_ || !awake()) return;
    troubled_at_ = agenda_.now();
    for (auto& what : std::exchange(held_, {})) {
      if (life == life_) what();
    }
  });
}

bool SimControl::submit(const std::string& key, std::shared_ptr<const model::JobSpec> spec,
                        Reply reply) {
  if (!up()) return false;
  model::Submit input;
  input.job = JobId("j" + std::to_string(++log_.jobs_made));
  input.owner = "someone";
  input.idempotency_key = key;
  input.body_hash = "body of " + key;
  input.spec = std::move(spec);
  take(std::move(input), std::move(reply));
  return true;
}

bool SimControl::request(model::JobRequest request, Reply reply) {
  if (!up()) return false;
  take(std::move(request), std::move(reply));
  return true;
}

bool SimControl::call(model::TrialCall call, Reply reply) {
  if (!up()) return false;
  take(std::move(call), std::move(reply));
  return true;
}

void SimControl::take(model::Input input, Reply reply) {
  if (!awake()) {
    held_.emplace_back([this, input = std::move(input), reply = std::move(reply)]() mutable {
      take(std::move(input), std::move(reply));
    });
  } else if (waiting_) {
    reply(disk_is_full());
  } else {
    decide(std::move(input), std::move(reply));
  }
}

void SimControl::receive(const Heartbeat& beat) {
  if (!up()) return;
  if (!awake()) {
    held_.emplace_back([this, beat] { receive(beat); });
    return;
  }
  const NodeId node = beat.node.id;
  if (!declared_.contains(node)) return;  // Nobody speaks for it any more.
  if (beat.up < taken_[node]) return;
  taken_[node] = beat.up;
  if (beat.good_bye) {
    decide_told({model::NodeReport{node, beat.incarnation, beat.ranks, beat.metrics, beat.health},
                 nullptr});
    decide_told({model::NodeLost{node, beat.incarnation, "Left"}, nullptr});
    heard_.erase(node);
    return;
  }
  heard_[node] = agenda_.now();
  const auto known = brain_->state().nodes.find(node);
  const bool joins = !linked_.contains(node) || known == brain_->state().nodes.end() ||
                     !known->second.up || known->second.incarnation != beat.incarnation;
  if (joins && !beat.is_report) {
    if (fenced(beat)) join(beat);
  } else {
    report(beat);
  }
}

// A node joins by an inventory that it made after all orders that were sent to it: one that is
// still on its way would begin what the join takes for gone. Empty orders ask it for such an
// inventory.
bool SimControl::fenced(const Heartbeat& beat) {
  const auto [fence, asked_now] = fences_.try_emplace(beat.node.id, sequence_ + 1);
  if (asked_now) ++sequence_;
  if (beat.epoch == Epoch(log_.epoch) && beat.taken >= fence->second) {
    fences_.erase(fence);
    return true;
  }
  model::NodeOrders orders;
  orders.epoch = Epoch(log_.epoch);
  orders.node = beat.node.id;
  orders.incarnation = beat.incarnation;
  orders.sequence = fence->second;
  const std::size_t node = node_index_.at(orders.node);
  send_(node, std::move(orders));
  return false;
}

void SimControl::join(const Heartbeat& beat) {
  linked_.insert(beat.node.id);
  decide_told(
      {model::NodeJoin{beat.node, beat.incarnation, beat.ranks, beat.metrics, beat.crashed_idle,
                       beat.beside},
       [this, node = beat.node.id, ranks = beat.ranks](const brain::Decision&) {
         answer([this, node, ranks] { return orders_->on_join(brain_->state(), node, ranks); });
       }});
}

void SimControl::report(const Heartbeat& beat) {
  // What the state does not know any more at this point ended in an earlier decision.
  std::vector<model::RankReport> stale = stale_ranks(brain_->state(), beat.ranks);
  Reply forget;
  if (!stale.empty()) {
    forget = [this, node = beat.node.id, stale = std::move(stale)](const brain::Decision&) {
      answer([this, node, stale] {
        return orders_->forget(brain_->state(), node, brain::ended_unknown(brain_->state(), stale));
      });
    };
  }
  decide_told(
      {model::NodeReport{beat.node.id, beat.incarnation, beat.ranks, beat.metrics, beat.health},
       std::move(forget)});
}

// Until the disk takes it.
void SimControl::decide_told(Told told) {
  if (waiting_) {
    again_.push_back(std::move(told));
    return;
  }
  const auto kept = std::make_shared<const Told>(std::move(told));
  decide(kept->input, [this, kept](const brain::Decision& decision) {
    if (decision.refusal.has_value()) {
      again_.push_back(*kept);
    } else if (kept->durable != nullptr) {
      kept->durable(decision);
    }
  });
}

void SimControl::decide_again() {
  waiting_ = false;
  for (Told& told : std::exchange(again_, {})) decide_told(std::move(told));
}

// Sends what is made of the state as it is now, once all that it rests on is durable.
void SimControl::answer(std::function<model::NodeOrders()> build) {
  model::NodeOrders orders = build();
  if (pending_.empty()) return send(std::move(orders));
  pending_.push_back({{model::Wake{}, now_max_, {}},
                      {},
                      [this, build = std::move(build),
                       orders = std::move(orders)](const brain::Decision& decision) {
                        if (decision.refusal.has_value()) return answer(build);
                        send(orders);
                      }});
  begin_commit();
}

// As control::Controller does: what is not durable yet may be about to change the archive.
void SimControl::bring_record(model::JobRequest& request) const {
  if (!settled() || brain_->state().jobs.contains(request.job)) return;
  const auto found = log_.archive.find(request.job);
  if (found != log_.archive.end()) request.record = found->second;
}

void SimControl::decide(model::Input input, Reply reply) {
  if (auto* request = std::get_if<model::JobRequest>(&input)) bring_record(*request);
  now_max_ = std::max(now_max_, wall());
  brain::Decision decision = brain_->decide(input, now_max_);
  if (!decision.events.empty()) {
    std::string broken = invariants_.after(input, decision.events, brain_->state());
    if (!broken.empty() && violation_.empty()) violation_ = std::move(broken);
  }
  // An answer without events may rest on batches in flight: it waits in line behind them.
  if (decision.events.empty() && pending_.empty()) {
    if (reply != nullptr) reply(decision);
    return;
  }
  DurableLog::Batch batch{std::move(input), now_max_, decision.events};
  pending_.push_back({std::move(batch), std::move(decision), std::move(reply)});
  begin_commit();
}

void SimControl::begin_commit() {
  if (committing_ > 0 || pending_.empty()) return;
  committing_ = pending_.size();
  later(Duration::millis(dice_.between(0, 6)), [this] {
    if (log_.full) {
      fail_commit();
    } else {
      finish_commit();
    }
  });
}

void SimControl::finish_commit() {
  std::vector<Pending> done(
      std::make_move_iterator(pending_.begin()),
      std::make_move_iterator(pending_.begin() + static_cast<std::ptrdiff_t>(committing_)));
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(committing_));
  committing_ = 0;
  const auto first = static_cast<std::int64_t>(log_.events.size());
  for (Pending& each : done) {
    if (each.batch.events.empty()) continue;
    log_.events.insert(log_.events.end(), each.batch.events.begin(), each.batch.events.end());
    log_.batches.push_back(each.batch);
    archive(each);
  }
  std::int64_t at = first;
  for (Pending& each : done) {
    publish(each.batch, at);
    at += static_cast<std::int64_t>(each.batch.events.size());
    if (each.reply != nullptr) each.reply(each.decision);
  }
  arm_wake(kWakeDelayMin);
  begin_commit();
}

void SimControl::archive(const Pending& done) {
  for (const model::Event& event : done.batch.events) {
    if (std::holds_alternative<model::JobRestored>(event)) log_.archive.erase(model::job_of(event));
  }
  for (const brain::Job& job : done.decision.archived) {
    log_.archive[job.id] = brain::encode_job(job);
  }
}

// Nothing of what was decided since may leave: forget it all and go back to what is durable.
void SimControl::fail_commit() {
  std::vector<Pending> lost = std::exchange(pending_, {});
  committing_ = 0;
  troubled_at_ = agenda_.now();
  fold();
  for (Pending& each : lost) {
    if (each.reply != nullptr) each.reply(disk_is_full());
  }
  waiting_ = !again_.empty();
  if (waiting_) later(kRetryAppend, [this] { decide_again(); });
  // Orders were made from a state that may have known more than was kept.
  for (const NodeId& node : std::set<NodeId>(linked_)) {  // A message that is lost ends its link.
    send(orders_->everything(brain_->state(), node));
  }
  arm_wake(kRetryAppend);
}

void SimControl::publish(const DurableLog::Batch& batch, std::int64_t first_event) {
  std::int64_t number = first_event;
  for (const model::Event& event : batch.events) {
    ++number;
    seen_.watched.try_emplace(number, event);
  }
  if (batch.events.empty()) return;
  for (model::NodeOrders& orders : orders_->after(brain_->state(), batch.events)) {
    send(std::move(orders));
  }
}

void SimControl::send(model::NodeOrders orders) {
  if (brain::empty(orders)) return;
  orders.sequence = ++sequence_;
  // A join that was decided late may send orders while the next one is being asked for.
  if (const auto fence = fences_.find(orders.node); fence != fences_.end()) {
    fence->second = orders.sequence;
  }
  // Named first: the order in which arguments are made differs between compilers.
  const std::size_t node = node_index_.at(orders.node);
  send_(node, std::move(orders));
}

// As control::Controller does: after each commit, each Wake and each start, and only then.
void SimControl::arm_wake(Duration least) {
  const Time now = std::max(now_max_, wall());
  const std::optional<Time> next = brain_->next_wake(now);
  if (!next.has_value()) return;
  const Time at = agenda_.now() + std::clamp(*next - now, least, kWakeDelayMax);
  if (wake_at_ > agenda_.now() && wake_at_ <= at) return;  // It arms the next one.
  wake_at_ = at;
  later(at - agenda_.now(), [this, at] {
    if (wake_at_ == at) wake_at_ = Time();
    wake();
  });
}

void SimControl::wake() {
  take(model::Wake{}, [this](const brain::Decision& decision) {
    arm_wake(decision.refusal.has_value() ? kRetryAppend : kWakeDelayMin);
  });
}

void SimControl::give_notice(const NodeId& node, Duration notice) {
  CHECK(notice >= Duration(), "a notice of the past");
  if (!awake()) return;  // Nobody hears it.
  const auto known = brain_->state().nodes.find(node);
  if (known == brain_->state().nodes.end()) return;
  const Time at = std::max(now_max_, wall()) + notice;
  decide_told({model::NodeNotice{node, known->second.incarnation, at, "Preempted"}, nullptr});
}

// A home has no lease for a node that it does not know to be there: only its file tells.
void SimControl::keep_nodes() {
  std::vector<model::NodeLost> gone;
  for (const auto& [id, node] : brain_->state().nodes) {
    if (node.up && !declared_.contains(id)) gone.push_back({id, node.incarnation, "Left"});
  }
  for (model::NodeLost& node : gone) decide_told({std::move(node), nullptr});
}

void SimControl::check_leases() {
  std::vector<NodeId> lost;
  for (const auto& [node, at] : heard_) {
    if (agenda_.now() - at > kLease) lost.push_back(node);
  }
  for (const NodeId& node : lost) {
    heard_.erase(node);
    const auto found = brain_->state().nodes.find(node);
    if (found == brain_->state().nodes.end()) continue;  // Its join waits for the disk.
    const brain::Node& known = found->second;
    decide_told({model::NodeLost{node, known.incarnation, "HeartbeatLost"}, nullptr});
  }
  check_overdue();
  later(kLeaseCheck, [this] { check_leases(); });
}

void SimControl::check_overdue() {
  CHECK(awake(), "a control that sleeps is asked what it missed");
  if (agenda_.now() - troubled_at_ < kOverdueSlack || !settled() || !violation_.empty()) return;
  violation_ = check_nothing_overdue(brain_->state(), std::max(now_max_, wall()), kOverdueSlack);
}

}  // namespace runnel::sim
