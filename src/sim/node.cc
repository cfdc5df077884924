#include "sim/node.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "sim/fate.h"
#include "sim/health_fact.h"

namespace runnel::sim {
namespace {

constexpr Duration kBeatEvery = Duration::millis(1'000);
constexpr Duration kTellDelay = Duration::millis(2);
constexpr std::int64_t kMeetingMillisMax = 20;
constexpr std::int64_t kPreparationMillisMax = 200;
constexpr std::int64_t kSlowPreparationMillisMax = 10'000;
constexpr std::int64_t kLookMillisMax = 300;
constexpr const char* kKind = "H100";  // All its devices are of this kind.
constexpr std::uint64_t kNodeStream = 0x0DE;

node::NodeLimits limits_of(Dice& dice) {
  node::NodeLimits limits;
  if (dice.chance(250)) limits.handed_over_max = static_cast<std::size_t>(dice.between(2, 8));
  if (dice.chance(150)) limits.waiting_max = static_cast<std::size_t>(dice.between(1, 6));
  if (dice.chance(300)) {
    limits.reports_per_message_max = static_cast<std::size_t>(dice.between(1, 4));
  }
  return limits;
}

}  // namespace

SimNode::SimNode(model::NodeInfo info, std::uint64_t seed, Wiring wiring)
    : info_(std::move(info)),
      agenda_(*wiring.agenda),
      truth_(*wiring.truth),
      jobs_(wiring.jobs),
      send_(std::move(wiring.send)),
      dice_(seed ^ kNodeStream ^ mixed(seed, {{JobId(info_.id.str()), {}, {}}, {}}, 0)),
      limits_(limits_of(dice_)),
      runner_(info_.id, seed,
              {&agenda_, &truth_,
               [this](node::News news) { act([this, news = std::move(news)] { hear(news); }); },
               [this] { meet_after(Duration::millis(dice_.between(0, kMeetingMillisMax))); }}),
      core_(core_of({})) {}

node::NodeCore SimNode::core_of(const node::Stamp& last) {
  return {info_.id, last, limits_,
          [this](const model::AttemptRef& attempt) { return has_beside(attempt); }};
}

bool SimNode::has_beside(const model::AttemptRef& attempt) const {
  return std::any_of(machine_.begin(), machine_.end(), [&](const SimNode* node) {
    return node != this && node->core_.has_other(attempt);
  });
}

void SimNode::share_runner(std::vector<SimNode*> nodes) {
  std::vector<SimRunner*> runners;
  runners.reserve(nodes.size());
  for (SimNode* node : nodes) runners.push_back(&node->runner_);
  runner_.share(std::move(runners));
  machine_ = std::move(nodes);
}

void SimNode::start() {
  meet_after(Duration::millis(dice_.between(0, 100)));
  agenda_.after(kBeatEvery, [this] { beat(); });
}

// --- Time.

void SimNode::act(Action what) {
  if (!up_) return;
  if (awake() && held_.empty()) return what();
  held_.push_back(std::move(what));
}

void SimNode::act_after(Duration delay, Action what) {
  agenda_.after(delay, [this, life = life_, what = std::move(what)]() mutable {
    if (life == life_) act(std::move(what));
  });
}

void SimNode::freeze(Duration lasts) {
  if (!up_) return;
  frozen_until_ = std::max(frozen_until_, agenda_.now() + lasts);
  agenda_.after(lasts, [this] {
    if (!awake()) return;
    for (const Action& what : std::exchange(held_, {})) what();
  });
}

// --- The runner.

// What the core tells control until then would be of a runner that it does not know.
void SimNode::meet_after(Duration delay) {
  core_.lose_runner();
  act_after(delay, [this, meeting = ++meetings_] {
    if (meeting == meetings_) meet();
  });
}

void SimNode::meet() {
  core_.meet(runner_.life());
  ready_.clear();
  runner_.watch_nothing();
  node::Inventory inventory = runner_.inventory(info_);
  for (const model::RankReport& rank : inventory.has.ranks) {
    core_.has(rank, rank.ended || rank.started_at != Time());
  }
  inventory.has.devices = look_at_devices();
  std::vector<node::Up> messages = core_.join(std::move(inventory));
  if (messages.size() > 1) ++truth_.parted_inventories;
  send(std::move(messages));
  hand_over();
}

void SimNode::hear(const node::News& news) {
  if (!core_.joined()) return;  // The inventory tells of it.
  node::News told{{}, news.metrics, news.health};
  for (const model::RankReport& rank : news.ranks) {
    const node::NodeCore::Reported heard = core_.on_report(rank);
    if (heard.tell) told.ranks.push_back(rank);
    if (heard.drop_record) runner_.drop(rank.attempt);
  }
  tell_soon(std::move(told));
  hand_over();
}

// --- Orders.

void SimNode::receive(model::NodeOrders orders) {
  act([this, orders = std::move(orders)] { perform(core_.take(orders, agenda_.now())); });
}

void SimNode::perform(node::NodeCore::Work work) {
  if (work.inventory) return meet_after(Duration::millis(dice_.between(0, kMeetingMillisMax)));
  for (const model::AttemptRef& attempt : work.drop_records) runner_.drop(attempt);
  for (const model::AttemptRef& attempt : work.let_go) ready_.erase(attempt);
  for (node::NodeCore::Preparation& each : work.prepare) prepare(std::move(each));
  for (const auto& order : work.watch) {
    const bool failed_just_now = core_.find(order.attempt) == nullptr;
    if (!failed_just_now) runner_.watch(order.attempt, order.health);
  }
  hand_over();
  for (const model::StopOrder& order : work.stop) runner_.stop(order);
  tell_soon({std::move(work.not_started), {}, {}});
}

// Most need none, and some of these are refused at once. Of the others it is not known whose will
// fail before it was tried; a few wait for something for long.
void SimNode::prepare(node::NodeCore::Preparation preparation) {
  check_alone(preparation.order.attempt);
  preparing_.insert(preparation.order.attempt);
  if (dice_.chance(700)) return end_preparation(preparation, !dice_.chance(20));
  const bool is_well = !dice_.chance(20);
  const std::int64_t most = dice_.chance(50) ? kSlowPreparationMillisMax : kPreparationMillisMax;
  act_after(Duration::millis(dice_.between(0, most)),
            [this, is_well, preparation = std::move(preparation)] {
              end_preparation(preparation, is_well);
              hand_over();
            });
}

void SimNode::end_preparation(const node::NodeCore::Preparation& preparation, bool is_well) {
  const model::AttemptRef& attempt = preparation.order.attempt;
  const auto under_way = preparing_.find(attempt);
  CHECK(under_way != preparing_.end(), "a preparation ends that nobody began");
  preparing_.erase(under_way);
  if (is_well) {
    if (core_.prepared(attempt, preparation.number)) ready_[attempt] = preparation.order;
    return;
  }
  const Error error(Errc::kUnavailable, "a file of it cannot be read just now");
  tell_soon({core_.failed(attempt, preparation.number, error, agenda_.now()), {}, {}});
}

void SimNode::check_alone(const model::AttemptRef& attempt) const {
  for (const SimNode* node : machine_) {
    for (const model::AttemptRef& other : node->preparing_) {
      if (other.task != attempt.task || other.attempt == attempt.attempt) continue;
      truth_.violation = model::to_string(attempt) + " was made ready on " + info_.id.str() +
                         " beside " + model::to_string(other);
    }
  }
}

// What has ended here may have held back attempts of other nodes.
void SimNode::hand_over() {
  for (SimNode* node : machine_) node->act([node] { node->take_turns(); });
}

void SimNode::take_turns() {
  for (node::NodeCore::Preparation& each : core_.released()) prepare(std::move(each));
  for (const model::AttemptRef& attempt : core_.next()) {
    const auto found = ready_.find(attempt);
    CHECK(found != ready_.end(), "it is the turn of what was never made ready");
    const model::StartOrder order = std::move(found->second);
    ready_.erase(found);
    runner_.start(order);
  }
}

// --- Messages up.

void SimNode::send(node::Up message) {
  sent_ = message.stamp.up;
  send_(std::move(message));
}

void SimNode::send(std::vector<node::Up> messages) {
  for (node::Up& each : messages) send(std::move(each));
}

std::optional<model::DeviceReport> SimNode::look_at_devices() const {
  if (info_.capacity.accelerators.empty()) return std::nullopt;
  model::DeviceReport report;
  for (const auto& [index, device] : missing_) report.missing.push_back(device);
  return report;
}

void SimNode::tell_devices() { tell_soon({{}, {}, {}, look_at_devices()}); }

void SimNode::tell_soon(node::News news) {
  core_.tell(std::move(news));
  if (!core_.has_news() || std::exchange(tells_soon_, true)) return;
  act_after(kTellDelay, [this] {
    tells_soon_ = false;
    tell();
  });
}

void SimNode::tell() {
  std::vector<node::Up> messages = core_.reports();
  if (messages.size() > 1) ++truth_.parted_reports;
  send(std::move(messages));
}

void SimNode::beat() {
  if (awake()) send(core_.beat());
  agenda_.after(kBeatEvery, [this] { beat(); });
}

// --- Faults.

void SimNode::kill_runner() {
  if (up_) runner_.kill();
}

void SimNode::go_down() {
  ++life_;
  up_ = false;
  core_ = core_of({sent_, {}, {}, 0});
  tells_soon_ = false;
  held_.clear();
  preparing_.clear();
  ready_.clear();
  runner_.go_down();
  hand_over();
}

void SimNode::reboot(Duration down) {
  if (!up_) return;
  go_down();
  agenda_.after(down, [this] {
    if (removed_) return;
    up_ = true;
    runner_.come_up();
    meet_after({});
  });
}

void SimNode::preempt(Duration gone) {
  if (!up_) return;
  if (awake()) send(core_.leave());
  reboot(gone);
}

void SimNode::remove() {
  removed_ = true;
  go_down();
}

void SimNode::resize(std::int64_t milli_cpus) {
  CHECK(milli_cpus > 0, "a node without a processor");
  model::Resources& capacity = info_.capacity;
  capacity.memory = Bytes::count(capacity.memory.count() / capacity.milli_cpus * milli_cpus);
  for (auto& [name, count] : capacity.accelerators) {
    count = std::max<std::int64_t>(1, count * milli_cpus / capacity.milli_cpus);
  }
  capacity.milli_cpus = milli_cpus;
}

void SimNode::hold_back(bool devices_only) {
  bool& flag = devices_only ? info_.withholds_devices : info_.draining;
  flag = !flag;
}

void SimNode::lose_device(Duration lasts) {
  const auto all = info_.capacity.accelerators.find(kKind);
  if (all == info_.capacity.accelerators.end()) return;
  const std::int64_t index = dice_.between(0, all->second - 1);
  const model::MissingDevice lost{kKind, index, "it fell off the bus", agenda_.now()};
  if (!missing_.try_emplace(index, lost).second) return;
  act_after(Duration::millis(dice_.between(0, kLookMillisMax)), [this] { tell_devices(); });
  agenda_.after(lasts, [this, index] {
    missing_.erase(index);
    act_after(Duration::millis(dice_.between(0, kLookMillisMax)), [this] { tell_devices(); });
  });
  if (!up_ || dice_.chance(500)) return;
  // The devices are told before the failures of the attempts that had this one.
  act([this] { tell_devices(); });
  runner_.fail_with(index);
}

// Reports about attempts that are not here, ranks that do not exist, lives that are over.
void SimNode::lie() {
  if (jobs_->empty() || !awake() || !core_.joined()) return;
  node::News news;
  for (int each = 0; each < 5; ++each) {
    model::RankReport lie;
    lie.attempt.task.job = dice_.pick<JobId>(*jobs_);
    lie.attempt.task.step = StepIndex(static_cast<std::int32_t>(dice_.between(0, 4)));
    lie.attempt.task.index = TaskIndex(dice_.between(0, 30));
    lie.attempt.attempt = AttemptNumber(static_cast<std::int32_t>(dice_.between(1, 3)));
    lie.rank = static_cast<std::int32_t>(dice_.between(0, 9));
    // Only what is not here: about its own attempts nobody could tell a lie from the truth.
    if (core_.holds(lie.attempt)) continue;
    truth_.lied_about.insert(lie.attempt);
    lie.ended = dice_.chance(700);
    lie.code = static_cast<std::int32_t>(dice_.between(0, 1));
    news.ranks.push_back(lie);
    news.health.push_back(
        accusation(lie.attempt, lie.rank, static_cast<model::HealthProblem>(each % 4)));
  }
  // Not an inventory: what a joining node has is its runner's journal, and one that lied there
  // would be believed until it joins again.
  tell();  // The truth, which no message of another life holds.
  core_.tell(std::move(news));
  std::vector<node::Up> messages = core_.reports();
  if (dice_.chance(300)) {
    for (node::Up& each : messages) each.stamp.incarnation = Incarnation(info_.id.str() + ".0");
  }
  send(std::move(messages));
}

}  // namespace runnel::sim
