#include "sim/runner.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "sim/fate.h"
#include "sim/poison_check.h"

namespace runnel::sim {
namespace {

// Where other streams than a rank's fate have their number.
constexpr std::int32_t kReportStream = 1'000'000;
constexpr std::int32_t kKillStream = 3'000'000;

using model::AttemptRef;
using model::EndCause;
using model::RankReport;

bool is_poison(const model::StartOrder& order) {
  return order.attempt.task.index.value() < poison_tasks(order.argv);
}

const std::string& value_of(const std::vector<std::pair<std::string, std::string>>& variables,
                            std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  CHECK(found != variables.end(), "an order without a variable that each has");
  return found->second;
}

}  // namespace

SimRunner::SimRunner(NodeId node, std::uint64_t seed, Wiring wiring)
    : node_(std::move(node)),
      seed_(seed),
      agenda_(*wiring.agenda),
      truth_(*wiring.truth),
      tell_(std::move(wiring.tell)),
      on_death_(std::move(wiring.on_death)),
      dice_(seed ^ mixed(seed, {{JobId(node_.str()), {}, {}}, {}}, 0)) {}

Incarnation SimRunner::life() const {
  return Incarnation(node_.str() + "." + std::to_string(life_));
}

// Runs unless the runner's life is over by then.
void SimRunner::later(Duration delay, std::function<void()> what) {
  agenda_.after(delay, [this, life = life_, what = std::move(what)] {
    if (life == life_) what();
  });
}

node::Inventory SimRunner::inventory(const model::NodeInfo& node) const {
  node::Inventory inventory{node, {left_over_, left_metrics_, {}}, crashed_idle_, lost_beside()};
  for (const auto& [ref, attempt] : attempts_) {
    for (const auto& [number, rank] : attempt.ranks) inventory.has.ranks.push_back(rank.report);
    inventory.has.metrics.insert(inventory.has.metrics.end(), attempt.metrics.begin(),
                                 attempt.metrics.end());
  }
  return inventory;
}

std::string SimRunner::describe() const {
  std::string text = life().str() + ", holds";
  for (const auto& [ref, attempt] : attempts_) text += " " + model::to_string(ref);
  for (const RankReport& record : left_over_) text += " " + model::to_string(record.attempt);
  return text;
}

// --- Attempts.

void SimRunner::start(const model::StartOrder& order) {
  CHECK(!attempts_.contains(order.attempt), "an attempt is handed over twice");
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

void SimRunner::run_next(LaneId lane) {
  auto queue = lanes_.find(lane);
  if (queue == lanes_.end()) return;
  Attempt& front = attempts_.at(queue->second.front());
  if (front.phase == Phase::kWaiting) run(front);
}

void SimRunner::run(Attempt& attempt) {
  attempt.phase = Phase::kRunning;
  check_devices(attempt);
  check_alone(attempt);
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
  tell_ranks(attempt);
  see_too_little(attempt);
  for (const auto& [problem, until] : problems_until_) {
    if (agenda_.now() < until) give_problem(attempt, problem, until - agenda_.now());
  }
}

void SimRunner::tell_ranks(const Attempt& attempt) {
  node::News news;
  for (const auto& [number, rank] : attempt.ranks) news.ranks.push_back(rank.report);
  tell_(std::move(news));
}

// The devices that the places of a running attempt were shown, each as often as a place has it, for
// as long as a rank of the place runs.
std::vector<std::string> SimRunner::devices_in_use(const Attempt& attempt) {
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

// No other attempt of its task runs on this machine: both would write the task's folder.
void SimRunner::check_alone(const Attempt& attempt) {
  const model::AttemptRef& ref = attempt.order.attempt;
  if (truth_.lied_about.contains(ref)) return;
  for (const SimRunner* node : nodes_) {
    const std::optional<model::AttemptRef> other = node->running_beside(ref);
    if (!other) continue;
    truth_.violation = model::to_string(ref) + " began on " + node_.str() + " beside " +
                       model::to_string(*other) + " on " + node->node_.str();
  }
}

std::optional<model::AttemptRef> SimRunner::running_beside(const model::AttemptRef& ref) const {
  const model::AttemptRef first{ref.task, AttemptNumber()};
  for (auto other = attempts_.lower_bound(first); other != attempts_.end(); ++other) {
    if (other->first.task != ref.task) break;
    if (other->first == ref || other->second.phase != Phase::kRunning) continue;
    if (!truth_.lied_about.contains(other->first)) return other->first;
  }
  return std::nullopt;
}

// An attempt that is about to run has devices that no process here has.
void SimRunner::check_devices(const Attempt& attempt) {
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
  truth_.violation = "device " + *twice + " of " + node_.str() + " was held when " +
                     model::to_string(attempt.order.attempt) + " began with it";
}

void SimRunner::fail_with(std::int64_t device) {
  std::vector<AttemptRef> holders;
  for (const auto& [ref, attempt] : attempts_) {
    if (attempt.phase != Phase::kRunning) continue;
    const std::vector<std::string> devices = devices_in_use(attempt);
    const bool has = std::ranges::find(devices, std::to_string(device)) != devices.end();
    if (has) holders.push_back(ref);
  }
  for (const AttemptRef& ref : holders) {
    const std::int32_t first = attempts_.at(ref).order.first_rank;
    const std::int32_t end = first + attempts_.at(ref).order.rank_count;
    for (std::int32_t rank = first; rank < end; ++rank) {
      end_rank(ref, rank, 1, 0, EndCause::kExited);
    }
  }
}

// Up to four, in time; some trials never report, some a loss that is no number. With a checkpoint
// an attempt goes on near to where the one before ended.
void SimRunner::plan_reports(const Attempt& attempt) {
  Dice dice(mixed(seed_, attempt.order.attempt, kReportStream));
  const Duration lasts = fate_of(seed_, attempt.order, 0).lasts;
  const std::int64_t count = dice.between(0, 4);
  const std::int64_t attempts_before = attempt.order.attempt.attempt.value() - 1;
  std::int64_t done = attempt.order.checkpoint ? 2 * attempts_before : 0;
  // The checkpoint that it goes on from may be behind it.
  if (attempt.order.checkpoint_from) done = dice.between(0, done);
  const std::int64_t misspelt = dice.chance(50) ? dice.between(1, 4) : 0;
  for (std::int64_t step = 1; step <= count; ++step) {
    model::MetricReport report{attempt.order.attempt, done + step, {}, false};
    for (const std::string& objective : attempt.order.objectives) {
      const std::string value = dice.chance(20) ? "nan" : std::to_string(dice.between(-500, 500));
      report.values.emplace_back(objective + (step <= misspelt ? "s" : ""), value);
    }
    later(Duration::millis(lasts.millis() * step / (count + 1)),
          [this, report] { see_report(report); });
  }
}

void SimRunner::see_report(const model::MetricReport& report) {
  const auto found = attempts_.find(report.attempt);
  if (found == attempts_.end() || found->second.phase != Phase::kRunning) return;
  if (found->second.ranks.at(0).ended) return;
  found->second.metrics.push_back(report);
  const auto& [name, value] = report.values.front();
  if (name == found->second.order.objectives.front()) {
    truth_.said[report.attempt] = {report.step, value};
  } else {
    truth_.problems.insert({report.attempt, 0, model::HealthProblem::kMetricMissing});
  }
  tell_({{}, {report}, {}});
}

// The last report, once more as such.
std::vector<model::MetricReport> SimRunner::close_metrics(Attempt& attempt) {
  if (attempt.metrics.empty() || attempt.metrics.back().last) return {};
  attempt.metrics.push_back(attempt.metrics.back());
  attempt.metrics.back().last = true;
  return {attempt.metrics.back()};
}

void SimRunner::plan_end(const Attempt& attempt, std::int32_t rank) {
  if (is_poison(attempt.order)) return;
  const Fate fate = fate_of(seed_, attempt.order, rank);
  later(fate.lasts, [this, ref = attempt.order.attempt, rank, fate] {
    const auto found = attempts_.find(ref);
    const bool hangs = found != attempts_.end() && found->second.hung.contains(rank);
    if (hangs && fate.cause != EndCause::kTimeout) return;
    end_rank(ref, rank, fate.code, fate.signal, fate.cause);
  });
}

void SimRunner::end_rank(const AttemptRef& ref, std::int32_t number, std::int32_t code,
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
  if (cause == EndCause::kExited && signal == 0) truth_.exited[{ref, number}] = code;
  const bool all = std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                               [](const auto& entry) { return entry.second.ended; });
  if (all) attempt.phase = Phase::kEnded;
  node::News news{{rank.report}, {}, {}};
  if (number == 0) news.metrics = close_metrics(attempt);
  if (all) leave_lane(attempt);
  tell_(std::move(news));
}

void SimRunner::leave_lane(const Attempt& attempt) {
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

void SimRunner::end_unstarted(Attempt& attempt, EndCause cause) {
  attempt.phase = Phase::kEnded;
  for (auto& [number, rank] : attempt.ranks) {
    rank.ended = true;
    rank.report.ended = true;
    rank.report.ended_at = agenda_.now();
    rank.report.cause = cause;
  }
  leave_lane(attempt);
  tell_ranks(attempt);
}

void SimRunner::stop(const model::StopOrder& order) {
  auto found = attempts_.find(order.attempt);
  if (found == attempts_.end()) return;
  Attempt& attempt = found->second;
  if (attempt.phase == Phase::kWaiting) return end_unstarted(attempt, EndCause::kNotStarted);
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

void SimRunner::drop(const AttemptRef& ref) {
  std::erase_if(left_over_, [&](const RankReport& report) { return report.attempt == ref; });
  std::erase_if(left_metrics_, [&](const auto& report) { return report.attempt == ref; });
  const auto found = attempts_.find(ref);
  watched_.erase(ref);
  if (found == attempts_.end()) return;
  CHECK(found->second.phase == Phase::kEnded, "the record of what has not ended is dropped");
  attempts_.erase(found);
}

// --- Deaths.

// Nothing else comes of it: it kills the runner soon after its start, or after about as long as it
// did before.
void SimRunner::plan_poison(const Attempt& attempt) {
  Dice dice(mixed(seed_, attempt.order.attempt, kKillStream));
  Dice kind(mixed(seed_, {attempt.order.attempt.task, AttemptNumber()}, kKillStream));
  const std::int64_t most = kind.chance(250) ? kind.between(1'500, 60'000) : 1'500;
  const std::int64_t least = most > 1'500 ? most / 2 : 0;
  later(Duration::millis(dice.between(least, most)),
        [this, ref = attempt.order.attempt] { poison(ref); });
}

void SimRunner::poison(const AttemptRef& by) {
  const auto found = attempts_.find(by);
  if (found == attempts_.end() || found->second.phase != Phase::kRunning) return;
  std::int64_t running = 0;
  for (const SimRunner* node : nodes_) {
    for (const auto& [other, lost] : node->attempts_) {
      if (lost.phase != Phase::kRunning) continue;
      ++running;
      if (other != by) ++truth_.poisoned[other.task];
    }
  }
  truth_.beside_poison = std::max(truth_.beside_poison, running);
  ++truth_.killed_by_poison;
  kill();
}

void SimRunner::kill() {
  const bool idle = std::none_of(nodes_.begin(), nodes_.end(),
                                 [](const SimRunner* node) { return node->runs_anything(); });
  for (SimRunner* node : nodes_) node->crash(idle);
  for (SimRunner* node : nodes_) {
    if (node->up_) node->on_death_();
  }
}

bool SimRunner::runs_anything() const {
  return std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    const auto& [ref, attempt] = entry;
    return attempt.phase != Phase::kWaiting &&
           std::any_of(attempt.ranks.begin(), attempt.ranks.end(),
                       [](const auto& rank) { return !rank.second.ended; });
  });
}

// What the runner's journal has of its other nodes.
std::vector<model::LostRanks> SimRunner::lost_beside() const {
  std::vector<model::LostRanks> beside;
  for (const SimRunner* node : nodes_) {
    if (node == this) continue;
    model::LostRanks lost{node->node_, node->left_over_};
    std::erase_if(lost.ranks,
                  [](const RankReport& report) { return report.cause != EndCause::kRunnerLost; });
    if (!lost.ranks.empty()) beside.push_back(std::move(lost));
  }
  return beside;
}

void SimRunner::crash(bool idle) {
  if (!up_) return;
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.phase == Phase::kWaiting) continue;
    for (auto& [number, rank] : attempt.ranks) {
      if (!rank.ended) {
        rank.report.ended = true;
        rank.report.ended_at = agenda_.now();
        rank.report.cause = EndCause::kRunnerLost;
      }
      left_over_.push_back(rank.report);
    }
    (void)close_metrics(attempt);
    left_metrics_.insert(left_metrics_.end(), attempt.metrics.begin(), attempt.metrics.end());
  }
  begin_life();
  crashed_idle_ = idle;
}

void SimRunner::go_down() {
  up_ = false;
  left_over_.clear();
  left_metrics_.clear();
  begin_life();
}

void SimRunner::begin_life() {
  ++life_;
  crashed_idle_ = false;
  lanes_.clear();
  attempts_.clear();
  watched_.clear();
}

}  // namespace runnel::sim
