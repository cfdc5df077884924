#include "sim/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "brain/order_book.h"
#include "sim/poison_check.h"

namespace runnel::sim {
namespace {

constexpr Duration kBeatEvery = Duration::millis(1'000);
constexpr Duration kReportDelay = Duration::millis(2);
constexpr std::int32_t kReportStream = 1'000'000;  // Where other streams have their rank.
constexpr std::int32_t kAilmentStream = 2'000'000;
constexpr std::int32_t kKillStream = 3'000'000;

bool is_poison(const model::StartOrder& order) {
  return order.attempt.task.index.value() < poison_tasks(order.argv);
}

using model::AttemptRef;
using model::EndCause;
using model::RankReport;

std::uint64_t mixed(std::uint64_t seed, const AttemptRef& attempt, std::int32_t rank) {
  std::uint64_t mix = seed;
  const auto stir = [&](std::uint64_t value) { mix = Dice(mix ^ (value * kGoldenGamma)).next(); };
  for (char letter : attempt.task.job.str()) stir(static_cast<unsigned char>(letter));
  stir(static_cast<std::uint64_t>(attempt.task.step.value()) + 1);
  stir(static_cast<std::uint64_t>(attempt.task.index.value()) + 1);
  stir(static_cast<std::uint64_t>(attempt.attempt.value()) + 1);
  stir(static_cast<std::uint64_t>(rank) + 1);
  return mix;
}

// How a process would behave if nobody touched it.
struct Fate {
  Duration lasts;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  EndCause cause = EndCause::kExited;
};

Fate fate_of(std::uint64_t seed, const model::StartOrder& order, std::int32_t rank) {
  Dice dice(mixed(seed, order.attempt, rank));
  Fate fate;
  fate.lasts = Duration::millis(dice.chance(500) ? dice.between(1, 20) : dice.between(20, 1'500));
  if (dice.chance(50)) fate.lasts = Duration::millis(dice.between(1'500, 8'000));
  if (dice.chance(120)) fate.code = dice.chance(500) ? 1 : 75;
  if (dice.chance(30)) fate.signal = 11;
  if (order.checkpoint.has_value() && dice.chance(200)) fate.code = 85;
  if (fate.signal != 0) fate.code = 0;
  if (order.memory_max.count() > 0 && dice.chance(20)) fate.cause = EndCause::kOutOfMemory;
  if (order.port != 0 && dice.chance(20)) fate = {Duration(), 0, 0, EndCause::kPortBusy};
  if (!order.max_duration.is_zero() && fate.lasts > order.max_duration) {
    fate = {order.max_duration, 0, 15, EndCause::kTimeout};
  }
  return fate;
}

const std::string& value_of(const std::vector<std::pair<std::string, std::string>>& variables,
                            std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  CHECK(found != variables.end(), "an order without a variable that each has");
  return found->second;
}

// A fact that is just enough for the policy.
model::HealthReport enough_of(const model::HealthPolicy& policy, const AttemptRef& attempt,
                              std::int32_t rank, model::Ailment ailment) {
  model::HealthReport report;
  report.attempt = attempt;
  report.rank = rank;
  report.ailment = ailment;
  report.step = 7;
  if (policy.hang) report.silent_for = policy.hang->after;
  if (policy.nan) report.metric = policy.nan->metric.empty() ? "loss" : policy.nan->metric;
  report.value = "nan";
  report.steps = model::kSlowStepsMin;
  report.median_micros = 1'000;
  if (policy.straggler) report.took_micros = policy.straggler->factor_permille;
  return report;
}

// Enough for any policy.
model::HealthReport accusation(const AttemptRef& attempt, std::int32_t rank,
                               model::Ailment ailment) {
  const model::HealthPolicy strict{model::HangPolicy{Duration::hours(1), {}},
                                   model::NanPolicy{"loss", {}},
                                   model::StragglerPolicy{model::kFactorPermilleMax, {}}};
  return enough_of(strict, attempt, rank, ailment);
}

}  // namespace

SimNode::SimNode(model::NodeInfo info, std::uint64_t seed, Wiring wiring)
    : info_(std::move(info)),
      seed_(seed),
      agenda_(*wiring.agenda),
      truth_(*wiring.truth),
      jobs_(wiring.jobs),
      send_(std::move(wiring.send)),
      dice_(seed ^ mixed(seed, {{JobId(info_.id.str()), {}, {}}, {}}, 0)) {}

void SimNode::start() {
  new_life();
  agenda_.after(Duration::millis(dice_.between(0, 100)), [this] { beat(); });
}

void SimNode::beat() {
  if (awake()) report();
  agenda_.after(kBeatEvery, [this] { beat(); });
}

node::Up SimNode::heartbeat() const {
  node::Up message;
  message.node = info_.id;
  message.stamp.incarnation = Incarnation(info_.id.str() + "." + std::to_string(life_));
  message.stamp.epoch = epoch_;
  message.stamp.taken = sequence_;
  message.what =
      node::Inventory{info_, {inventory(), metrics(), health()}, crashed_idle_, lost_beside()};
  return message;
}

void SimNode::report() { send(heartbeat()); }

void SimNode::send(node::Up message) {
  message.stamp.up = node::UpSequence(++up_sent_);
  send_(std::move(message));
}

void SimNode::report_soon() {
  if (report_planned_) return;
  report_planned_ = true;
  later(kReportDelay, [this] {
    report_planned_ = false;
    if (awake()) report();
  });
}

// Runs unless the runner's life is over by then.
void SimNode::later(Duration delay, std::function<void()> what) {
  agenda_.after(delay, [this, life = life_, what = std::move(what)] {
    if (life == life_) what();
  });
}

std::vector<RankReport> SimNode::inventory() const {
  std::vector<RankReport> ranks = left_over_;
  for (const auto& [ref, attempt] : attempts_) {
    for (const auto& [number, rank] : attempt.ranks) ranks.push_back(rank.report);
  }
  return ranks;
}

std::vector<model::MetricReport> SimNode::metrics() const {
  std::vector<model::MetricReport> all = left_metrics_;
  for (const auto& [ref, attempt] : attempts_) {
    all.insert(all.end(), attempt.metrics.begin(), attempt.metrics.end());
  }
  return all;
}

void SimNode::receive(const model::NodeOrders& orders) {
  if (!up_) return;
  if (!awake() || !held_.empty()) {  // In the order in which they came.
    held_.push_back(orders);
    return;
  }
  const bool stale =
      orders.epoch < epoch_ || (orders.epoch == epoch_ && orders.sequence <= sequence_) ||
      orders.incarnation != Incarnation(info_.id.str() + "." + std::to_string(life_));
  if (stale) return;
  if (orders.epoch > epoch_) watched_.clear();
  epoch_ = orders.epoch;
  sequence_ = orders.sequence;
  for (const AttemptRef& attempt : orders.forget) forget(attempt);
  for (const model::WatchOrder& order : orders.watch) watched_[order.attempt] = order.health;
  for (const model::StartOrder& order : orders.start) take_start(order);
  for (const model::StopOrder& order : orders.stop) take_stop(order);
  if (brain::empty(orders)) report_soon();
}

void SimNode::take_start(const model::StartOrder& order) {
  if (attempts_.contains(order.attempt)) return;
  Attempt& attempt = attempts_[order.attempt];
  attempt.order = order;
  for (std::int32_t rank = 0; rank < order.rank_count; ++rank) {
    RankReport report;
    report.attempt = order.attempt;
    report.rank = order.first_rank + rank;
    attempt.ranks[report.rank] = Rank{false, report};
  }
  lanes_[order.lane].push_back(order.attempt);
  run_next(order.lane);
}

void SimNode::run_next(LaneId lane) {
  auto queue = lanes_.find(lane);
  if (queue == lanes_.end()) return;
  Attempt& front = attempts_.at(queue->second.front());
  if (front.phase == Phase::kWaiting) run(front);
}

void SimNode::run(Attempt& attempt) {
  attempt.phase = Phase::kRunning;
  check_devices(attempt);
  for (auto& [number, rank] : attempt.ranks) {
    rank.report.started_at = agenda_.now();
    const bool first = truth_.started.insert({attempt.order.attempt, number}).second;
    if (!first) {
      truth_.violation = "rank " + std::to_string(number) + " of " +
                         model::to_string(attempt.order.attempt) + " was started twice";
    }
    plan_end(attempt, number);
  }
  if (is_poison(attempt.order)) plan_poison(attempt);
  if (!attempt.order.objectives.empty() && attempt.ranks.contains(0)) plan_reports(attempt);
  see_too_little(attempt);
  for (const auto& [ailment, until] : ailing_until_) {
    if (agenda_.now() < until) make_ailing(attempt, ailment, until - agenda_.now());
  }
  report_soon();
}

// The devices that the places of a running attempt were shown, each as often as a place has it, for
// as long as a rank of the place runs.
std::vector<std::string> SimNode::devices_in_use(const Attempt& attempt) const {
  std::vector<std::string> devices;
  const std::int32_t per_place = attempt.order.world_size / attempt.order.num_nodes;
  for (std::size_t place = 0; place < attempt.order.place_env.size(); ++place) {
    const auto first = attempt.order.first_rank + static_cast<std::int32_t>(place) * per_place;
    bool runs = false;
    for (std::int32_t rank = first; rank < first + per_place; ++rank) {
      runs = runs || !attempt.ranks.at(rank).ended;
    }
    const std::string& shown = value_of(attempt.order.place_env[place], "CUDA_VISIBLE_DEVICES");
    for (std::size_t at = 0; runs && at < shown.size(); at = shown.find(',', at)) {
      at += shown[at] == ',' ? 1 : 0;
      devices.push_back(shown.substr(at, shown.find(',', at) - at));
    }
  }
  return devices;
}

// What is about to run has devices that no process here has.
void SimNode::check_devices(const Attempt& attempt) {
  std::vector<std::string> devices = devices_in_use(attempt);
  const std::size_t places = std::max<std::size_t>(1, attempt.order.place_env.size());
  const std::string& asked = value_of(attempt.order.env, "RUNNEL_GPUS_PER_NODE");
  if (devices.size() % places != 0 || std::to_string(devices.size() / places) != asked) {
    truth_.violation = model::to_string(attempt.order.attempt) + " was shown " +
                       std::to_string(devices.size()) + " devices, and asked for " + asked +
                       " a place";
  }
  if (devices.empty()) return;
  truth_.devices.begun += static_cast<std::int64_t>(attempt.order.place_env.size());
  for (const auto& [ref, other] : attempts_) {
    if (other.phase != Phase::kRunning || ref == attempt.order.attempt) continue;
    if (truth_.lied_about.contains(ref)) continue;
    for (std::string& device : devices_in_use(other)) devices.push_back(std::move(device));
  }
  std::sort(devices.begin(), devices.end());
  const auto twice = std::adjacent_find(devices.begin(), devices.end());
  if (twice == devices.end() || truth_.lied_about.contains(attempt.order.attempt)) return;
  truth_.violation = "device " + *twice + " of " + info_.id.str() + " was held when " +
                     model::to_string(attempt.order.attempt) + " began with it";
}

// Nothing else comes of it: it kills the runner soon after its start, or after about as long as it
// did before.
void SimNode::plan_poison(const Attempt& attempt) {
  Dice dice(mixed(seed_, attempt.order.attempt, kKillStream));
  Dice kind(mixed(seed_, {attempt.order.attempt.task, AttemptNumber()}, kKillStream));
  const std::int64_t most = kind.chance(250) ? kind.between(1'500, 60'000) : 1'500;
  const std::int64_t least = most > 1'500 ? most / 2 : 0;
  later(Duration::millis(dice.between(least, most)),
        [this, ref = attempt.order.attempt] { poison(ref); });
}

void SimNode::poison(const AttemptRef& by) {
  const auto found = attempts_.find(by);
  if (!up_ || found == attempts_.end() || found->second.phase != Phase::kRunning) return;
  std::int64_t running = 0;
  for (const SimNode* node : runner_nodes_) {
    for (const auto& [other, lost] : node->attempts_) {
      if (lost.phase != Phase::kRunning) continue;
      ++running;
      if (other != by) ++truth_.poisoned[other.task];
    }
  }
  truth_.beside_poison = std::max(truth_.beside_poison, running);
  ++truth_.killed_by_poison;
  kill_runner();
}

// Up to four, in time; some trials never report, some a loss that is no number. With a checkpoint
// an attempt goes on near to where the one before ended.
void SimNode::plan_reports(const Attempt& attempt) {
  Dice dice(mixed(seed_, attempt.order.attempt, kReportStream));
  const Duration lasts = fate_of(seed_, attempt.order, 0).lasts;
  const std::int64_t count = dice.between(0, 4);
  const std::int64_t attempts_before = attempt.order.attempt.attempt.value() - 1;
  std::int64_t done = attempt.order.checkpoint ? 2 * attempts_before : 0;
  // What it goes on from may be behind it.
  if (attempt.order.checkpoint_from) done = dice.between(0, done);
  for (std::int64_t step = 1; step <= count; ++step) {
    const std::string value = dice.chance(20) ? "nan" : std::to_string(dice.between(-500, 500));
    model::MetricReport report{attempt.order.attempt, done + step, {{"loss", value}}, false};
    later(Duration::millis(lasts.millis() * step / (count + 1)), [this, report] {
      const auto found = attempts_.find(report.attempt);
      if (found == attempts_.end() || found->second.phase != Phase::kRunning) return;
      if (found->second.ranks.at(0).ended) return;
      found->second.metrics.push_back(report);
      truth_.said[report.attempt] = {report.step, report.values.front().second};
      report_soon();
    });
  }
}

void SimNode::close_metrics(Attempt& attempt) {
  if (attempt.metrics.empty() || attempt.metrics.back().last) return;
  attempt.metrics.push_back(attempt.metrics.back());
  attempt.metrics.back().last = true;
}

void SimNode::plan_end(const Attempt& attempt, std::int32_t rank) {
  if (is_poison(attempt.order)) return;
  const Fate fate = fate_of(seed_, attempt.order, rank);
  later(fate.lasts, [this, ref = attempt.order.attempt, rank, fate] {
    const auto found = attempts_.find(ref);
    const bool hangs = found != attempts_.end() && found->second.hung.contains(rank);
    if (hangs && fate.cause != EndCause::kTimeout) return;
    end_rank(ref, rank, fate.code, fate.signal, fate.cause);
  });
}

void SimNode::end_rank(const AttemptRef& ref, std::int32_t number, std::int32_t code,
                       std::int32_t signal, EndCause cause) {
  auto found = attempts_.find(ref);
  if (found == attempts_.end() || found->second.phase != Phase::kRunning) return;
  Attempt& attempt = found->second;
  Rank& rank = attempt.ranks.at(number);
  if (rank.ended) return;
  rank.ended = true;
  rank.report.ended = true;
  rank.report.ended_at = agenda_.now();
  rank.report.code = code;
  rank.report.signal = signal;
  rank.report.cause = cause;
  if (number == 0) close_metrics(attempt);
  if (cause == EndCause::kExited && signal == 0) truth_.exited[{ref, number}] = code;
  const bool all = std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                               [](const auto& entry) { return entry.second.ended; });
  if (all) {
    attempt.phase = Phase::kEnded;
    leave_lane(attempt);
  }
  report_soon();
}

void SimNode::leave_lane(const Attempt& attempt) {
  const LaneId lane = attempt.order.lane;
  auto queue = lanes_.find(lane);
  CHECK(queue != lanes_.end(), "an attempt ended without its lane");
  std::erase(queue->second, attempt.order.attempt);
  if (queue->second.empty()) {
    lanes_.erase(queue);
  } else {
    run_next(lane);
  }
}

void SimNode::end_unstarted(Attempt& attempt, EndCause cause) {
  attempt.phase = Phase::kEnded;
  for (auto& [number, rank] : attempt.ranks) {
    rank.ended = true;
    rank.report.ended = true;
    rank.report.ended_at = agenda_.now();
    rank.report.cause = cause;
  }
  leave_lane(attempt);
  report_soon();
}

void SimNode::take_stop(const model::StopOrder& order) {
  auto found = attempts_.find(order.attempt);
  if (found == attempts_.end()) return;
  Attempt& attempt = found->second;
  if (attempt.phase == Phase::kWaiting) {
    end_unstarted(attempt, EndCause::kNotStarted);
    return;
  }
  if (attempt.phase == Phase::kEnded || order.reason == model::StopReason::kWithdrawn) return;
  if (attempt.stopping) return;
  attempt.stopping = true;
  for (const auto& entry : attempt.ranks) {
    const Duration takes = Duration::millis(dice_.between(0, order.grace.millis()));
    later(takes, [this, ref = order.attempt, number = entry.first] {
      end_rank(ref, number, 0, 15, EndCause::kStopped);
    });
  }
}

void SimNode::forget(const AttemptRef& ref) {
  std::erase_if(left_over_, [&](const RankReport& report) { return report.attempt == ref; });
  std::erase_if(left_metrics_, [&](const auto& report) { return report.attempt == ref; });
  auto found = attempts_.find(ref);
  watched_.erase(ref);
  if (found == attempts_.end()) return;
  if (found->second.phase != Phase::kEnded) {
    // Told to forget what it still has: control gave the attempt up. It must go, unheard.
    Attempt& attempt = found->second;
    attempt.phase = Phase::kEnded;
    leave_lane(attempt);
  }
  attempts_.erase(ref);
}

void SimNode::new_life() {
  ++life_;
  crashed_idle_ = false;
  report_planned_ = false;
  epoch_ = Epoch();
  sequence_ = 0;
  lanes_.clear();
  attempts_.clear();
  watched_.clear();
  held_.clear();
}

void SimNode::kill_runner() {
  if (!up_) return;
  const bool idle = std::none_of(runner_nodes_.begin(), runner_nodes_.end(),
                                 [](const SimNode* node) { return node->runs_anything(); });
  for (SimNode* node : runner_nodes_) node->crash(idle);
}

bool SimNode::runs_anything() const {
  return std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    const auto& [ref, attempt] = entry;
    return attempt.phase != Phase::kWaiting &&
           std::any_of(attempt.ranks.begin(), attempt.ranks.end(),
                       [](const auto& rank) { return !rank.second.ended; });
  });
}

// What the runner's journal has of its other nodes.
std::vector<model::LostRanks> SimNode::lost_beside() const {
  std::vector<model::LostRanks> beside;
  for (const SimNode* node : runner_nodes_) {
    if (node == this) continue;
    model::LostRanks lost{node->info_.id, node->left_over_};
    std::erase_if(lost.ranks,
                  [](const RankReport& report) { return report.cause != EndCause::kRunnerLost; });
    if (!lost.ranks.empty()) beside.push_back(std::move(lost));
  }
  return beside;
}

void SimNode::crash(bool idle) {
  if (!up_) return;
  std::vector<RankReport> records = left_over_;
  std::vector<model::MetricReport> files = left_metrics_;
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.phase == Phase::kWaiting) continue;
    for (auto& [number, rank] : attempt.ranks) {
      if (!rank.ended) {
        rank.report.ended = true;
        rank.report.ended_at = agenda_.now();
        rank.report.cause = EndCause::kRunnerLost;
      }
      records.push_back(rank.report);
    }
    close_metrics(attempt);
    files.insert(files.end(), attempt.metrics.begin(), attempt.metrics.end());
  }
  new_life();
  crashed_idle_ = idle;
  left_over_ = std::move(records);
  left_metrics_ = std::move(files);
}

void SimNode::reboot(Duration down) {
  if (!up_) return;
  up_ = false;
  left_over_.clear();
  left_metrics_.clear();
  new_life();
  agenda_.after(down, [this] { up_ = !removed_; });
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

void SimNode::remove() {
  removed_ = true;
  up_ = false;
  left_over_.clear();
  left_metrics_.clear();
  new_life();
}

void SimNode::preempt(Duration gone) {
  if (!up_) return;
  node::Up bye = heartbeat();
  bye.what = node::GoodBye{node::news_of(bye)};
  send(std::move(bye));
  reboot(gone);
}

void SimNode::freeze(Duration lasts) {
  if (!up_) return;
  frozen_until_ = std::max(frozen_until_, agenda_.now() + lasts);
  agenda_.after(lasts, [this] {
    if (!awake()) return;
    for (const model::NodeOrders& orders : std::exchange(held_, {})) receive(orders);
  });
}

// Reports about attempts that are not here, ranks that do not exist, lives that are over.
void SimNode::lie() {
  if (jobs_->empty()) return;
  node::Up message = heartbeat();
  node::News news = node::news_of(message);
  for (int each = 0; each < 5; ++each) {
    RankReport lie;
    lie.attempt.task.job = dice_.pick<JobId>(*jobs_);
    lie.attempt.task.step = StepIndex(static_cast<std::int32_t>(dice_.between(0, 4)));
    lie.attempt.task.index = TaskIndex(dice_.between(0, 30));
    lie.attempt.attempt = AttemptNumber(static_cast<std::int32_t>(dice_.between(1, 3)));
    lie.rank = static_cast<std::int32_t>(dice_.between(0, 9));
    // Only what is not here: about its own attempts nobody could tell a lie from the truth.
    if (attempts_.contains(lie.attempt)) continue;
    truth_.lied_about.insert(lie.attempt);
    lie.ended = dice_.chance(700);
    lie.code = static_cast<std::int32_t>(dice_.between(0, 1));
    news.ranks.push_back(lie);
    news.health.push_back(accusation(lie.attempt, lie.rank, static_cast<model::Ailment>(each % 3)));
  }
  if (dice_.chance(300)) message.stamp.incarnation = Incarnation(info_.id.str() + ".0");
  // Not an inventory: what a joining node has is its runner's journal, and one that lied there
  // would be believed until it joins again.
  message.what = node::Report{std::move(news)};
  send(std::move(message));
}

void SimNode::ail(model::Ailment ailment, Duration lasts) {
  Time& until = ailing_until_[ailment];
  until = std::max(until, agenda_.now() + lasts);
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.phase == Phase::kRunning) make_ailing(attempt, ailment, lasts);
  }
}

// One of its ranks here, if it is looked at for this.
void SimNode::make_ailing(Attempt& attempt, model::Ailment ailment, Duration lasts) {
  const AttemptRef& ref = attempt.order.attempt;
  const auto policy = watched_.find(ref);
  if (policy == watched_.end() || attempt.stopping) return;
  const auto action = action_on(policy->second, ailment);
  Dice dice(mixed(seed_, ref, kAilmentStream + static_cast<std::int32_t>(ailment)));
  if (!action || dice.chance(300)) return;
  const std::int32_t last = attempt.order.rank_count - 1;
  const auto rank = static_cast<std::int32_t>(attempt.order.first_rank + dice.between(0, last));
  if (attempt.ranks.at(rank).ended) return;
  if (!truth_.ailing.insert({ref, rank, ailment}).second) return;
  const bool hangs = ailment == model::Ailment::kHung;
  if (hangs) {
    attempt.hung.insert(rank);
    if (*action == model::HealthAction::kWarn) hang(attempt, rank, lasts);
  }
  const model::HealthReport report = enough_of(policy->second, ref, rank, ailment);
  see_later(hangs ? report.silent_for : Duration::millis(dice.between(0, 50)), report);
}

// Until it goes on and ends.
void SimNode::hang(const Attempt& attempt, std::int32_t rank, Duration lasts) {
  later(lasts, [this, ref = attempt.order.attempt, rank] {
    const auto found = attempts_.find(ref);
    if (found != attempts_.end()) found->second.hung.erase(rank);
    end_rank(ref, rank, 0, 0, EndCause::kExited);
  });
}

void SimNode::see_later(Duration delay, const model::HealthReport& report) {
  later(delay, [this, report] {
    const auto found = attempts_.find(report.attempt);
    if (found == attempts_.end() || found->second.phase != Phase::kRunning) return;
    if (found->second.ranks.at(report.rank).ended) return;
    found->second.health.push_back(report);
    report_soon();
  });
}

// What a look at a rank that is well may tell: a true word that accuses nobody.
void SimNode::see_too_little(Attempt& attempt) {
  const auto policy = watched_.find(attempt.order.attempt);
  if (policy == watched_.end()) return;
  for (const auto ailment :
       {model::Ailment::kHung, model::Ailment::kNotFinite, model::Ailment::kSlow}) {
    if (!action_on(policy->second, ailment)) continue;
    model::HealthReport report =
        enough_of(policy->second, attempt.order.attempt, attempt.order.first_rank, ailment);
    report.silent_for = std::max(report.silent_for - Duration::millis(1), Duration());
    report.value = "1e300";
    report.steps -= 1;
    attempt.health.push_back(report);
  }
}

std::vector<model::HealthReport> SimNode::health() const {
  std::vector<model::HealthReport> all;
  for (const auto& [ref, attempt] : attempts_) {
    if (!watched_.contains(ref)) continue;
    all.insert(all.end(), attempt.health.begin(), attempt.health.end());
  }
  return all;
}

std::string SimNode::describe() const {
  std::string text = info_.id.str() + ": life " + std::to_string(life_) + ", holds";
  for (const auto& [ref, attempt] : attempts_) text += " " + model::to_string(ref);
  return text;
}

}  // namespace runnel::sim
