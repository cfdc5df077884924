#include "sim/control.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace runnel::sim {
namespace {

constexpr Duration kLease = Duration::millis(3'000);
constexpr Duration kLeaseCheck = Duration::millis(500);
constexpr Duration kRetryAppend = Duration::millis(200);
constexpr Duration kWakeDelayMin = Duration::millis(5);
constexpr Duration kWakeDelayMax = Duration::seconds(30);
// How late may be looked at what was due, when nothing stands in the way.
constexpr Duration kOverdueSlack = Duration::millis(1'000);

}  // namespace

SimControl::SimControl(std::uint64_t seed, Wiring wiring)
    : agenda_(*wiring.agenda),
      log_(*wiring.log),
      seen_(*wiring.seen),
      invariants_(*wiring.invariants),
      violation_(*wiring.violation),
      send_(std::move(wiring.send)),
      node_index_(*wiring.node_index),
      declared_(*wiring.declared),
      dice_(seed ^ 0xC0117201ULL) {}

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
  brain_ = std::make_unique<brain::Brain>(folded_);
  for (; folded_batches_ < log_.batches.size(); ++folded_batches_) {
    const DurableLog::Batch& batch = log_.batches[folded_batches_];
    brain_->replay(batch.events, batch.now);
    now_max_ = std::max(now_max_, batch.now);
  }
  folded_ = brain_->state();
  orders_.emplace(Epoch(log_.epoch), brain_->state());
  invariants_.restart(log_.events);
}

void SimControl::start() {
  CHECK(!up(), "a control is started twice");
  ++life_;
  ++log_.epoch;
  sequence_ = 0;
  now_max_ = Time();
  folded_ = {};
  folded_batches_ = 0;
  fold();
  // From here on time is counted by a clock that nobody can set.
  base_ = std::max(now_max_, agenda_.now() + skew_);
  started_ = agenda_.now();
  troubled_at_ = agenda_.now();
  for (std::size_t number = seen_.watched.size(); number < log_.events.size(); ++number) {
    seen_.watched.try_emplace(static_cast<std::int64_t>(number) + 1, log_.events[number]);
  }
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

bool SimControl::submit(std::string key, std::shared_ptr<const model::JobSpec> spec, Reply reply) {
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

void SimControl::take(model::Input input, Reply reply) {
  if (awake()) {
    decide(std::move(input), std::move(reply));
  } else {
    held_.push_back([this, input = std::move(input), reply = std::move(reply)]() mutable {
      decide(std::move(input), std::move(reply));
    });
  }
}

void SimControl::receive(const Heartbeat& beat) {
  if (!up()) return;
  if (!awake()) {
    held_.push_back([this, beat] { receive(beat); });
    return;
  }
  const NodeId node = beat.node.id;
  if (!declared_.contains(node)) return;  // Nobody speaks for it any more.
  if (beat.good_bye) {
    decide(model::NodeReport{node, beat.incarnation, beat.ranks}, nullptr);
    decide(model::NodeLost{node, beat.incarnation, "Left"}, nullptr);
    heard_.erase(node);
    return;
  }
  auto known = brain_->state().nodes.find(node);
  const bool joins = known == brain_->state().nodes.end() || !known->second.up ||
                     known->second.incarnation != beat.incarnation;
  heard_[node] = agenda_.now();
  if (joins) {
    decide(model::NodeJoin{beat.node, beat.incarnation, beat.ranks}, nullptr);
  } else {
    decide(model::NodeReport{node, beat.incarnation, beat.ranks}, nullptr);
  }
  // The difference between desired and observed as it is now, sent when all it rests on is durable.
  auto found = brain_->state().nodes.find(node);
  const bool known_life = found != brain_->state().nodes.end() && found->second.up &&
                          found->second.incarnation == beat.incarnation;
  if (!known_life) return;
  model::NodeOrders orders = orders_->on_join(brain_->state(), node, beat.ranks);
  if (brain::empty(orders)) return;
  pending_.push_back({{model::Wake{}, now_max_, {}},
                      {},
                      [this, orders = std::move(orders)](const brain::Decision& decision) {
                        if (!decision.refusal.has_value()) send(orders);
                      }});
  begin_commit();
}

void SimControl::decide(model::Input input, Reply reply) {
  now_max_ = std::max(now_max_, wall());
  brain::Decision decision = brain_->decide(input, now_max_);
  if (!decision.events.empty()) {
    std::string broken = invariants_.after(decision.events, brain_->state());
    if (!broken.empty() && violation_.empty()) violation_ = std::move(broken);
  }
  // An answer without events may rest on batches in flight: it waits in line behind them.
  if (!decision.events.empty() || reply != nullptr) {
    DurableLog::Batch batch{std::move(input), now_max_, decision.events};
    pending_.push_back({std::move(batch), std::move(decision), std::move(reply)});
    begin_commit();
  }
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

// Nothing of what was decided since may leave: forget it all and go back to what is durable.
void SimControl::fail_commit() {
  std::vector<Pending> lost = std::exchange(pending_, {});
  committing_ = 0;
  troubled_at_ = agenda_.now();
  fold();
  for (Pending& each : lost) {
    if (each.reply == nullptr) continue;
    brain::Decision refused;
    refused.refusal = Error(Errc::kFull, "the disk is full");
    each.reply(refused);
  }
  // What nodes said is said again by their next heartbeats.
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
  decide(model::Wake{}, [this](const brain::Decision& decision) {
    arm_wake(decision.refusal.has_value() ? kRetryAppend : kWakeDelayMin);
  });
}

// A home has no lease for a node that it does not know to be there: only its file tells.
void SimControl::keep_nodes() {
  std::vector<model::NodeLost> gone;
  for (const auto& [id, node] : brain_->state().nodes) {
    if (node.up && !declared_.contains(id)) gone.push_back({id, node.incarnation, "Left"});
  }
  for (model::NodeLost& node : gone) {
    decide(std::move(node), [this](const brain::Decision& decision) {
      if (decision.refusal.has_value()) later(kRetryAppend, [this] { keep_nodes(); });
    });
  }
}

void SimControl::check_leases() {
  std::vector<NodeId> lost;
  for (const auto& [node, at] : heard_) {
    if (agenda_.now() - at > kLease) lost.push_back(node);
  }
  for (const NodeId& node : lost) {
    heard_.erase(node);
    const brain::Node& known = brain_->state().nodes.at(node);
    decide(model::NodeLost{node, known.incarnation, "HeartbeatLost"}, nullptr);
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
