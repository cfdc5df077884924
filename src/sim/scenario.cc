#include "sim/scenario.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/agenda.h"
#include "base/check.h"
#include "sim/dice.h"
#include "sim/poison_check.h"
#include "sim/search_scenario.h"

namespace runnel::sim {
namespace {

constexpr std::int64_t kFaultWindowMillis = 20'000;
constexpr std::uint64_t kSearchStream = 0x5EA2C4;
constexpr std::uint64_t kExternalStream = 0x0075DE;
constexpr std::uint64_t kPopulationStream = 0x909;
constexpr std::uint64_t kHealthStream = 0x4EA174;
constexpr std::uint64_t kDeviceStream = 0xDE71CE;
constexpr std::uint64_t kPoisonStream = 0x9015;
constexpr std::uint64_t kHandStream = 0x4A9D;
constexpr std::uint64_t kRunnerStream = 0x2066;
constexpr std::uint64_t kPlaceStream = 0x91ACE;
constexpr std::uint64_t kUserStream = 0x05E25;
constexpr std::int64_t kAilingWindowMillis = 8'000;

constexpr std::array<std::string_view, kFaultKinds> kFaultWords = {
    "control-crash", "control-freeze", "torn-tail",   "disk-full",    "disk-fails", "disk-slow",
    "runner-kill",   "node-reboot",    "node-freeze", "partition",    "storm",      "lying-node",
    "preemption",    "client-crash",   "clock-jump",  "node-removed", "node-lost",  "node-resized",
    "node-drained",  "hung-rank",      "not-finite",  "slow-rank",    "device-lost"};

// Nodes that last, so that there is always enough for whatever may be asked.
constexpr std::size_t kLastingNodes = 4;
constexpr std::int64_t kDevicesPerPlaceMax = 2;
static_assert(kLastingNodes < kNodesMin, "no node can be removed, lost, resized or drained");

model::NodeInfo node_info(Dice& dice, std::size_t index) {
  model::NodeInfo info;
  info.id = NodeId("n" + std::to_string(index));
  info.capacity.milli_cpus = dice.between(1, 4) * 1000;
  info.capacity.memory = Bytes::gibi(dice.between(4, 16));
  info.price = Money::micros(360 * info.capacity.milli_cpus);
  if (dice.chance(300)) info.capacity.accelerators["H100"] = dice.between(1, 4);
  info.colocate = dice.chance(300);
  return info;
}

model::RetryPolicy retry_policy(Dice& dice) {
  model::RetryPolicy retry;
  retry.max = static_cast<std::int32_t>(dice.between(0, 3));
  if (dice.chance(300)) retry.on_exit_codes = {1, 75};
  if (dice.chance(200)) retry.on_events = {"timeout", "failed"};
  if (dice.chance(500)) {
    retry.backoff_min = Duration::millis(dice.between(10, 2'000));
    retry.backoff_max = Duration::millis(dice.between(2'000, 8'000));
  }
  return retry;
}

void make_gang(Dice& dice, model::StepSpec& step) {
  step.num_nodes = static_cast<std::int32_t>(dice.between(2, 4));
  step.procs_per_node = static_cast<std::int32_t>(dice.between(1, 2));
  step.task_count = dice.between(1, 2);
}

model::StepSpec step_spec(Dice& dice, std::size_t position) {
  model::StepSpec step;
  step.name = "s" + std::to_string(position);
  step.run = model::Command::words({"/bin/task"});
  step.task_count = dice.chance(300) ? dice.between(10, 30) : dice.between(1, 10);
  step.resources.milli_cpus = 1000 * (dice.chance(200) ? 2 : 1);
  if (dice.chance(200)) make_gang(dice, step);
  if (dice.chance(100) && step.num_nodes == 1) step.resources.accelerators["H100"] = 1;
  if (step.task_count > 1) step.samples = step.task_count;
  if (dice.chance(300)) step.parallel = dice.between(1, 4);
  if (dice.chance(600)) step.retry = retry_policy(dice);
  if (dice.chance(200)) {
    step.checkpoint = model::CheckpointPolicy{"ckpt", Duration::seconds(1), 85};
  }
  if (dice.chance(200)) step.max_duration = Duration::millis(dice.between(500, 5'000));
  step.grace = Duration::millis(dice.between(10, 500));
  for (std::size_t earlier = 0; earlier < position; ++earlier) {
    if (dice.chance(400)) step.depends_on.emplace_back(static_cast<std::int32_t>(earlier));
  }
  return step;
}

// At times limits of memory, and whole nodes; at times it may run where it can be taken away.
void ask_places(Dice& dice, model::StepSpec& step) {
  if (step.is_external()) return;
  step.spot = dice.chance(400);
  if (dice.chance(300)) step.resources.memory = Bytes::mebi(dice.between(64, 1'024));
  if (!step.retry.on_events.empty() && dice.chance(500)) {
    step.retry.on_events.emplace_back("out_of_memory");
  }
  if (step.rank_count() > 1 || !dice.chance(60)) return;
  step.whole_node = true;
  step.resources.milli_cpus = 0;
}

// Chances of their own, so that one kind of scenario does not change with another.
struct Chances {
  Dice common;
  Dice searches;
  Dice external;
  Dice populations;
  Dice health;
  Dice devices;
  Dice poison;
  Dice hand;
  Dice places;
  bool watched = false;  // Whether this schedule's steps look at the health of their ranks.
  bool granted = false;  // Whether most of its steps ask for devices.
};

model::HealthAction health_action(Dice& dice, const model::StepSpec& step) {
  constexpr std::array kActions = {model::HealthAction::kWarn, model::HealthAction::kKill,
                                   model::HealthAction::kRestart};
  const auto action = dice.pick<model::HealthAction>(kActions);
  const bool unpaid = action == model::HealthAction::kRestart && step.retry.max == 0;
  return unpaid ? model::HealthAction::kKill : action;
}

void add_health(Dice& dice, model::StepSpec& step) {
  if (step.is_external()) return;
  model::HealthPolicy& health = step.health;
  if (dice.chance(700)) {
    const Duration after = Duration::millis(dice.between(1'000, 2'000));
    health.hang = model::HangPolicy{after, health_action(dice, step)};
  }
  if (dice.chance(600)) {
    const std::string metric = dice.chance(500) ? "loss" : "";
    health.nan = model::NanPolicy{metric, health_action(dice, step)};
  }
  if (step.rank_count() < 2 || dice.chance(300)) return;
  health.straggler = model::StragglerPolicy{dice.between(1'001, 10'000), health_action(dice, step)};
}

void ask_devices(Dice& dice, model::StepSpec& step) {
  if (step.is_external() || dice.chance(200)) return;
  step.resources.accelerators["H100"] = dice.between(1, kDevicesPerPlaceMax);
}

// The nodes that last have enough for any gang.
void add_devices(Dice& dice, std::vector<model::NodeInfo>& nodes) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::int64_t least = node < kLastingNodes ? kDevicesPerPlaceMax : 1;
    nodes[node].capacity.accelerators["H100"] = dice.between(least, 8);
  }
}

// Makes spot nodes of some of those that need not last, for a third of the price.
void make_spot(Dice& dice, std::vector<model::NodeInfo>& nodes) {
  for (std::size_t node = kLastingNodes; node < nodes.size(); ++node) {
    nodes[node].spot = dice.chance(500);
    nodes[node].spot_price = Money::micros(nodes[node].price.micros() / 3);
  }
}

// Two or three neighbours have one runner, a home's nodes, or each its own.
void share_runners(Dice& dice, std::vector<model::NodeInfo>& nodes) {
  for (std::size_t first = 0; first < nodes.size();) {
    const auto end = std::min(nodes.size(), first + static_cast<std::size_t>(dice.between(1, 3)));
    const std::string runner = nodes[first].id.str();
    for (bool alone = end - first == 1; first < end; ++first) {
      if (!alone) nodes[first].runner = runner;
    }
  }
}

std::shared_ptr<const model::JobSpec> job_spec(Chances& chances, std::size_t index) {
  Dice& dice = chances.common;
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "job" + std::to_string(index);
  spec->workdir = "/";
  spec->priority = static_cast<std::int32_t>(dice.chance(300) ? dice.between(1, 5) : 0);
  const auto steps = static_cast<std::size_t>(dice.between(1, 4));
  for (std::size_t step = 0; step < steps; ++step) {
    spec->steps.push_back(step_spec(dice, step));
    if (chances.searches.chance(250)) {
      make_search(chances.searches, spec->steps.back());
      if (chances.external.chance(150)) {
        make_outside(spec->steps.back());
      } else if (chances.populations.chance(200)) {
        make_population(chances.populations, spec->steps.back());
      }
    }
    if (chances.watched) add_health(chances.health, spec->steps.back());
    if (chances.granted) ask_devices(chances.devices, spec->steps.back());
    ask_places(chances.places, spec->steps.back());
  }
  return spec;
}

// One or two tasks that kill their runner, in jobs that have others; at times with much company.
void add_poison(Dice& dice, Scenario& scenario) {
  if (dice.chance(300)) scenario.nodes[0].capacity.milli_cpus = 32'000;
  for (std::int64_t left = dice.between(1, 2); left > 0; --left) {
    auto& job = scenario.jobs[static_cast<std::size_t>(
        dice.between(0, static_cast<std::int64_t>(scenario.jobs.size()) - 1))];
    auto spec = std::make_shared<model::JobSpec>(*job);
    model::StepSpec& step = spec->steps.emplace_back();
    step.name = "poison" + std::to_string(left);
    step.resources.milli_cpus = 1'000;
    step.grace = Duration::millis(dice.between(10, 500));
    if (dice.chance(300)) step.retry = retry_policy(dice);
    if (dice.chance(200)) step.checkpoint = model::CheckpointPolicy{"ckpt", {}, 85};
    if (dice.chance(100)) make_gang(dice, step);
    step.task_count = dice.between(1, 3);
    if (step.task_count > 1) step.samples = step.task_count;
    step.run = model::Command::words(std::vector<std::string>(
        static_cast<std::size_t>(dice.between(1, step.task_count)), std::string(kPoison)));
    job = std::move(spec);
  }
}

std::int64_t task_count(const std::vector<std::shared_ptr<const model::JobSpec>>& jobs) {
  std::int64_t tasks = 0;
  for (const auto& job : jobs) {
    for (const model::StepSpec& step : job->steps) tasks += step.task_count;
  }
  return tasks;
}

void add_wishes(Dice& dice, Scenario& scenario) {
  using Verb = model::JobRequest::Verb;
  for (std::size_t job = 0; job < scenario.jobs.size(); ++job) {
    const Time at = Agenda::kStart + Duration::millis(dice.between(0, 5'000));
    scenario.wishes.push_back({at, job, true, Verb::kCancel});
    if (dice.chance(700)) continue;
    const std::array<Verb, 6> verbs = {Verb::kCancel, Verb::kHalt, Verb::kResume,
                                       Verb::kRetry,  Verb::kHalt, Verb::kDelete};
    const Verb verb = dice.pick<Verb>(verbs);
    const Time then = at + Duration::millis(dice.between(100, 8'000));
    scenario.wishes.push_back({then, job, false, verb});
    if (verb != Verb::kHalt && verb != Verb::kCancel) continue;
    const Verb back = verb == Verb::kHalt ? Verb::kResume : Verb::kRetry;
    scenario.wishes.push_back(
        {then + Duration::millis(dice.between(500, 5'000)), job, false, back});
  }
}

// Users who take no for an answer.
void add_patience(Dice dice, Scenario& scenario) {
  for (Wish& wish : scenario.wishes) wish.once = !wish.submit && dice.chance(400);
}

void add_faults(Dice& dice, Scenario& scenario) {
  std::set<FaultKind> kinds;
  const auto enough = static_cast<std::size_t>(dice.between(kFaultsMin, 9));
  while (scenario.faults.size() < enough || kinds.size() < kFaultKindsMin) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(dice.between(0, kCommonFaultKinds - 1));
    fault.at = Agenda::kStart + Duration::millis(dice.between(50, kFaultWindowMillis));
    fault.lasts =
        Duration::millis(dice.chance(500) ? dice.between(10, 500) : dice.between(500, 8'000));
    fault.node = static_cast<std::size_t>(
        dice.between(0, static_cast<std::int64_t>(scenario.nodes.size()) - 1));
    const bool for_good =
        fault.kind == FaultKind::kNodeRemoved || fault.kind == FaultKind::kNodeLost ||
        fault.kind == FaultKind::kNodeResized || fault.kind == FaultKind::kNodeDrained;
    if (for_good) fault.node = std::max(fault.node, kLastingNodes);
    kinds.insert(fault.kind);
    scenario.faults.push_back(fault);
    scenario.faults_end = std::max(scenario.faults_end, fault.at + fault.lasts);
  }
}

void add_health_problems(Dice& dice, Scenario& scenario) {
  constexpr std::array kKinds = {FaultKind::kHungRank, FaultKind::kNotFinite, FaultKind::kSlowRank};
  for (std::int64_t left = dice.between(3, 8); left > 0; --left) {
    Fault fault;
    fault.kind = dice.pick<FaultKind>(kKinds);
    fault.at = Agenda::kStart + Duration::millis(dice.between(50, kAilingWindowMillis));
    fault.lasts = Duration::millis(dice.between(500, 4'000));
    fault.node = static_cast<std::size_t>(
        dice.between(0, static_cast<std::int64_t>(scenario.nodes.size()) - 1));
    scenario.faults_end = std::max(scenario.faults_end, fault.at + fault.lasts);
    scenario.faults.push_back(fault);
  }
}

// Some for good, of nodes that need not last.
void add_vanishings(Dice& dice, Scenario& scenario) {
  for (std::int64_t left = dice.between(0, 4); left > 0; --left) {
    Fault fault;
    fault.kind = FaultKind::kDeviceLost;
    fault.at = Agenda::kStart + Duration::millis(dice.between(50, kAilingWindowMillis));
    fault.lasts = Duration::millis(dice.between(200, 8'000));
    fault.node = static_cast<std::size_t>(
        dice.between(0, static_cast<std::int64_t>(scenario.nodes.size()) - 1));
    scenario.faults_end = std::max(scenario.faults_end, fault.at + fault.lasts);
    if (fault.node >= kLastingNodes && dice.chance(300)) fault.lasts = Duration::hours(24);
    scenario.faults.push_back(fault);
  }
}

}  // namespace

void add_hand(Scenario& scenario) {
  Dice dice(scenario.seed ^ kHandStream);
  const bool everywhere = dice.chance(500);
  const auto last = static_cast<std::int64_t>(scenario.nodes.size()) - 1;
  const std::int64_t first = everywhere ? 0 : dice.between(0, last);
  Time at = Agenda::kStart + Duration::millis(dice.between(50, 5'000));
  for (std::int64_t left = dice.between(100, 300); left > 0; --left) {
    at = at + Duration::millis(dice.between(100, 600));
    for (std::int64_t node = first; node <= (everywhere ? last : first); ++node) {
      scenario.faults.push_back({FaultKind::kRunnerKill, at, {}, static_cast<std::size_t>(node)});
    }
  }
  scenario.faults_end = std::max(scenario.faults_end, at);
}

bool Scenario::poisoned() const {
  return std::any_of(jobs.begin(), jobs.end(), [](const auto& job) {
    return std::any_of(job->steps.begin(), job->steps.end(), has_poison);
  });
}

std::string_view to_string(FaultKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  CHECK(index < kFaultWords.size(), "a fault kind without a word");
  return kFaultWords[index];
}

Scenario scenario_of(std::uint64_t seed) {
  Chances chances{Dice(seed),
                  Dice(seed ^ kSearchStream),
                  Dice(seed ^ kExternalStream),
                  Dice(seed ^ kPopulationStream),
                  Dice(seed ^ kHealthStream),
                  Dice(seed ^ kDeviceStream),
                  Dice(seed ^ kPoisonStream),
                  Dice(seed ^ kHandStream),
                  Dice(seed ^ kPlaceStream)};
  chances.watched = chances.health.chance(350);
  chances.granted = chances.devices.chance(350);
  Dice& dice = chances.common;
  Scenario scenario;
  scenario.seed = seed;
  const auto nodes = static_cast<std::size_t>(dice.between(kNodesMin, 10));
  for (std::size_t node = 0; node < nodes; ++node) {
    scenario.nodes.push_back(node_info(dice, node));
  }
  // Somebody can always run what anybody may ask for.
  scenario.nodes[0].capacity.milli_cpus = 8'000;
  scenario.nodes[0].capacity.accelerators["H100"] = 2;
  scenario.nodes[0].colocate = true;
  for (std::size_t node = 1; node < kLastingNodes; ++node) {
    scenario.nodes[node].capacity.milli_cpus = 4'000;
  }
  if (chances.granted) add_devices(chances.devices, scenario.nodes);
  make_spot(chances.places, scenario.nodes);
  if (Dice runners(seed ^ kRunnerStream); runners.chance(400)) {
    share_runners(runners, scenario.nodes);
  }
  while (task_count(scenario.jobs) < kTasksMin) {
    scenario.jobs.push_back(job_spec(chances, scenario.jobs.size()));
  }
  if (chances.poison.chance(250)) add_poison(chances.poison, scenario);
  add_wishes(dice, scenario);
  add_patience(Dice(seed ^ kUserStream), scenario);
  add_faults(dice, scenario);
  if (chances.watched) add_health_problems(chances.health, scenario);
  if (chances.hand.chance(50)) add_hand(scenario);
  if (chances.granted) add_vanishings(chances.devices, scenario);
  if (dice.chance(300)) {
    scenario.limits.finished_jobs = static_cast<std::size_t>(dice.between(0, 2));
    scenario.limits.key_life = Duration::millis(dice.between(1'000, 20'000));
  }
  return scenario;
}

std::string describe(const Scenario& scenario) {
  const auto moment = [](Time at) {
    return "  +" + std::to_string((at - Agenda::kStart).millis()) + " ms ";
  };
  std::string text = "seed " + std::to_string(scenario.seed) + ": " +
                     std::to_string(scenario.nodes.size()) + " nodes, " +
                     std::to_string(scenario.jobs.size()) + " jobs, " +
                     std::to_string(task_count(scenario.jobs)) + " tasks\n";
  for (const Wish& wish : scenario.wishes) {
    text += moment(wish.at) + (wish.submit ? "submit" : std::string(model::to_string(wish.verb))) +
            " job" + std::to_string(wish.job) + (wish.once ? ", once\n" : "\n");
  }
  for (const Fault& fault : scenario.faults) {
    text += moment(fault.at) + std::string(to_string(fault.kind)) + " n" +
            std::to_string(fault.node) + " for " + std::to_string(fault.lasts.millis()) + " ms\n";
  }
  return text;
}

}  // namespace runnel::sim
