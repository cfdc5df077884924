#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/split_mix.h"
#include "model/event.h"
#include "model/input.h"

namespace runnel::model {

// Random values of the model, for tests, the simulator and fuzzers.
//
// Contract: the same seed gives the same values with every compiler. What it makes is legal: it can
//           be stored and read back, and specifications pass check_spec(). Half of all fields hold
//           their default, the others often an extreme.
// Threads:  one at a time.
// Why:      header only, so that binaries that link no test library can use it.
class RandomModel {
 public:
  explicit RandomModel(std::uint64_t seed) : numbers_(seed) {}

  std::uint64_t bits() { return numbers_.next(); }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(end));
  }
  bool maybe() { return below(2) == 0; }

  // Zero, something small, the most, or anything up to it.
  std::int64_t amount(std::int64_t max) {
    switch (below(4)) {
      case 0: return 0;
      case 1: return std::min<std::int64_t>(below(100), max);
      case 2: return max;
      default: return below(max);
    }
  }
  std::int32_t count32() { return static_cast<std::int32_t>(amount(INT32_MAX)); }
  std::int64_t count64() { return amount(INT64_MAX); }
  Time time() { return Time::from_millis(count64()); }
  Duration duration() { return Duration::millis(count64()); }

  // Letters, what JSON escapes, and characters of two to four bytes.
  std::string text() {
    static constexpr const char* kPieces[] = {"a",    "Z",    "0",      "_",      " ",
                                              "\"",   "\\",   "/",      "\n",     "\t",
                                              "\x01", "\x7f", "\u00e9", "\u20ac", "\U0001F600"};
    std::string out;
    for (std::int64_t left = maybe() ? 0 : below(24); left > 0; --left) {
      out += kPieces[below(std::size(kPieces))];
    }
    return out;
  }
  std::string word() {
    std::string out = "w";
    for (std::int64_t left = below(8); left > 0; --left) out += static_cast<char>('a' + below(26));
    return out;
  }
  std::vector<std::string> words(std::int64_t most) {
    std::vector<std::string> out;
    for (std::int64_t left = below(most + 1); left > 0; --left) out.push_back(text());
    return out;
  }
  // Distinct and ascending.
  std::vector<std::string> names(std::int64_t most) {
    std::set<std::string> out;
    for (std::int64_t left = below(most + 1); left > 0; --left) out.insert(word());
    return {out.begin(), out.end()};
  }
  Status status() { return static_cast<Status>(below(kStatusCount)); }

  AttemptRef attempt() {
    return {{JobId(word()), StepIndex(count32()), TaskIndex(count64())}, AttemptNumber(count32())};
  }
  Resources resources() {
    Resources out;
    out.milli_cpus = amount(kMilliCpusMax);
    out.memory = Bytes::count(amount(kMemoryMax.count()));
    for (const std::string& name : names(3))
      out.accelerators[name] = 1 + amount(kAcceleratorsMax - 1);
    return out;
  }
  NodeInfo node() {
    NodeInfo out;
    out.id = NodeId(word());
    if (maybe()) out.pool = text();
    if (maybe()) out.address = text();
    out.capacity = resources();
    out.colocate = maybe();
    out.spot = maybe();
    out.draining = maybe();
    out.withholds_devices = maybe();
    if (maybe()) out.runner = word();
    if (maybe()) out.instance = word();
    out.price = Money::micros(count64() % (kPriceMax.micros() + 1));
    if (maybe()) out.spot_price = Money::micros(count64() % (kPriceMax.micros() + 1));
    if (maybe()) out.port_first = static_cast<std::int32_t>(1 + below(65'535));
    out.port_last = static_cast<std::int32_t>(out.port_first + below(65'536 - out.port_first));
    return out;
  }
  Devices devices() {
    Devices out;
    if (maybe()) return out;
    for (const std::string& kind : names(2)) {
      for (std::int64_t left = 1 + below(4); left > 0; --left) out[kind].insert(below(16));
    }
    return out;
  }
  std::vector<RankRef> rank_refs() {
    std::vector<RankRef> out;
    while (maybe()) out.push_back({attempt(), count32()});
    return out;
  }
  RankReport rank_report() {
    RankReport out;
    out.attempt = attempt();
    out.rank = count32();
    out.ended = maybe();
    if (maybe()) out.started_at = time();
    if (maybe()) out.ended_at = time();
    out.code = exit_number();
    out.signal = exit_number();
    out.cause = cause();
    out.message = text();
    for (const std::string& name : names(2)) out.published.emplace_back(name, text());
    return out;
  }
  std::vector<RankReport> rank_reports() {
    std::vector<RankReport> out;
    for (std::int64_t left = below(4); left > 0; --left) out.push_back(rank_report());
    return out;
  }

  std::vector<MetricReport> metrics() {
    std::vector<MetricReport> out;
    for (std::int64_t left = below(3); left > 0; --left) {
      MetricReport& report = out.emplace_back();
      report.attempt = attempt();
      report.step = count64();
      for (const std::string& name : names(3)) report.values.emplace_back(name, text());
      report.last = maybe();
    }
    return out;
  }

  HealthAction health_action() { return static_cast<HealthAction>(below(3)); }
  std::vector<HealthReport> health_reports() {
    std::vector<HealthReport> out;
    for (std::int64_t left = below(3); left > 0; --left) {
      HealthReport& report = out.emplace_back();
      report = {attempt(), count32(), static_cast<HealthProblem>(below(4)), time(), duration()};
      report.step = count64() - 1;
      report.metric = text();
      report.value = text();
      report.took = Micros::count(amount(kStepTimeMax.count()));
      report.median = Micros::count(amount(kStepTimeMax.count()));
      report.steps = count32();
      report.silent_others = count32();
    }
    return out;
  }

  std::optional<DeviceReport> device_report() {
    if (maybe()) return std::nullopt;
    DeviceReport report;
    while (maybe()) report.missing.push_back({word(), count32() % 1'000, text(), time()});
    return report;
  }

  JobSpec spec() {
    JobSpec out;
    out.name = text();
    out.priority = static_cast<std::int32_t>(count64() - (maybe() ? INT32_MAX : 0));
    out.seed = static_cast<std::int64_t>(maybe() ? bits() : 0);
    if (maybe()) out.workdir = "/" + text();
    if (maybe()) {
      for (const std::string& name : names(3)) out.environment.emplace_back(name, text());
    }
    const auto step_count = static_cast<std::int32_t>(1 + below(4));
    for (std::int32_t i = 0; i < step_count; ++i) out.steps.push_back(step(i, step_count));
    return out;
  }
  Event event() { return event(static_cast<std::size_t>(below(std::variant_size_v<Event>))); }
  Input input() { return input(static_cast<std::size_t>(below(std::variant_size_v<Input>))); }
  // The alternative with this index of the variant.
  Event event(std::size_t index) {
    return alternative<Event>(index, std::make_index_sequence<std::variant_size_v<Event>>());
  }
  Input input(std::size_t index) {
    return alternative<Input>(index, std::make_index_sequence<std::variant_size_v<Input>>());
  }

 private:
  std::int32_t exit_number() { return maybe() ? 0 : static_cast<std::int32_t>(bits()); }
  EndCause cause() {
    return static_cast<EndCause>(below(static_cast<std::int64_t>(EndCause::kRunnerLost) + 1));
  }
  Fault fault() { return static_cast<Fault>(below(4)); }
  std::shared_ptr<const JobSpec> shared_spec() { return std::make_shared<const JobSpec>(spec()); }

  Parameter parameter(std::string name, bool continuous) {
    Parameter out;
    out.name = std::move(name);
    const std::int64_t low = below(1000) - (continuous ? 0 : 500) + (continuous ? 1 : 0);
    switch (below(continuous ? 4 : 2)) {
      case 0:
        out.values = words(4);
        out.values.push_back(text());
        return out;
      case 1: out.kind = Parameter::Kind::kRange; break;
      case 2: out.kind = Parameter::Kind::kUniform; break;
      default: out.kind = Parameter::Kind::kLogUniform; break;
    }
    out.low = std::to_string(low);
    out.high = std::to_string(low + 1 + below(10));
    if (out.continuous() && maybe()) out.low += "e-3";
    return out;
  }
  void add_tasks(StepSpec& step) {
    if (maybe()) step.samples = 1 + amount(kTasksPerStepMax - 1);
    for (std::string& name : names(3)) {
      step.params.push_back(parameter(std::move(name), step.samples.has_value()));
    }
    step.task_count = step.samples.value_or(1);
    if (step.samples && !step.params.empty() && maybe()) add_search(step);
    if (step.samples || step.search) return;
    for (const Parameter& each : step.params) {
      step.task_count *= each.kind == Parameter::Kind::kRange
                             ? std::stoll(each.high) - std::stoll(each.low) + 1
                             : static_cast<std::int64_t>(each.values.size());
    }
  }
  // In place of the samples.
  void add_search(StepSpec& step) {
    step.samples.reset();
    step.task_count = 1 + amount(kTasksPerStepMax - 1);
    SearchSpec& search = step.search.emplace();
    search.max_trials = step.task_count;
    search.method = maybe() ? SearchSpec::Method::kAuto : SearchSpec::Method::kTpe;
    search.objectives.push_back({word(), maybe()});
    search.budget = Money::micros(amount(1'000'000));
    if (maybe()) search.max_failures = below(10);
    if (maybe()) search.max_duration = duration();
    while (maybe()) search.from.push_back({{{word(), text()}}, {"0.5"}});
    if (!maybe()) return;
    search.pruner.emplace();
    search.pruner->kind = maybe() ? PrunerSpec::Kind::kAsha : PrunerSpec::Kind::kMedian;
    search.pruner->min_step = 1 + below(10);
    search.pruner->eta = static_cast<std::int32_t>(2 + below(3));
  }
  void add_program(StepSpec& step) {
    if (maybe()) {
      step.run = Command::shell("echo " + text());
    } else {
      std::vector<std::string> argv = words(3);
      argv.insert(argv.begin(), word());
      step.run = Command::words(std::move(argv));
    }
  }
  RetryPolicy retry() {
    RetryPolicy out;
    out.max = count32();
    while (maybe()) out.on_exit_codes.push_back(static_cast<std::int32_t>(below(256)));
    if (maybe()) out.on_events = {"node_fail", "timeout"};
    out.backoff_min = Duration::millis(amount(1'000'000));
    out.backoff_max = out.backoff_min + Duration::millis(amount(1'000'000));
    return out;
  }
  void add_policies(StepSpec& step) {
    if (maybe()) step.retry = retry();
    if (maybe()) step.parallel = 1 + below(100);
    if (maybe()) step.max_duration = duration();
    if (maybe()) step.grace = duration();
    if (maybe()) step.max_log = Bytes::count(count64());
    if (maybe()) step.checkpoint = CheckpointPolicy{word(), duration(), std::nullopt};
    if (step.checkpoint && maybe()) step.checkpoint->exit_code = 85;
    if (!step.is_external() && maybe()) step.metrics = {{{word(), word(), 2, word()}}, word()};
  }
  void add_health(StepSpec& step) {
    const auto action = [&] {
      const HealthAction any = health_action();
      return step.retry.max == 0 && any == HealthAction::kRestart ? HealthAction::kKill : any;
    };
    if (maybe()) step.health.hang = HangPolicy{kSilenceMin + duration_below(1'000'000), action()};
    if (maybe()) step.health.nan = NanPolicy{maybe() ? word() : "", action()};
    if (step.rank_count() < 2 || maybe()) return;
    step.health.straggler = StragglerPolicy{1'001 + below(10'000), action()};
  }
  Duration duration_below(std::int64_t millis) { return Duration::millis(below(millis)); }
  void add_environment(StepSpec& step) {
    for (const std::string& name : names(4)) step.envs.emplace_back(name, text());
    for (const std::string& name : names(2)) step.secrets.push_back({name, "env:" + word()});
    if (step.is_external()) return;
    for (const std::string& name : names(2)) {
      step.volumes.push_back({name, "data", "0123456789abcdef", "file:///" + word()});
      if (!maybe()) continue;
      step.volumes.back().mode = VolumeMode::kWrite;
      step.volumes.back().version.clear();
    }
  }
  StepSpec step(std::int32_t index, std::int32_t step_count) {
    StepSpec out;
    out.name = "step" + std::to_string(index);
    // Dependencies lead to later positions, so that the specification is acyclic.
    for (std::int32_t other = index + 1; other < step_count; ++other) {
      if (maybe()) out.depends_on.emplace_back(other);
    }
    add_tasks(out);
    add_program(out);
    if (maybe()) out.num_nodes = static_cast<std::int32_t>(1 + below(300));
    if (maybe()) out.procs_per_node = static_cast<std::int32_t>(1 + below(300));
    if (maybe()) out.resources = resources();
    out.whole_node = maybe();
    add_policies(out);
    add_health(out);
    add_environment(out);
    return out;
  }

  void fill(JobSubmitted& out) {
    out = {JobId(word()), ProjectId(word()), QueueId(word()), text(), text(),
           text(),        shared_spec()};
    if (maybe()) out.actor = text();
  }
  void fill(JobChanged& out) { out = {JobId(word()), status(), text(), text(), text()}; }
  void fill(StepChanged& out) {
    out = {JobId(word()), StepIndex(count32()), status(), text(), text()};
  }
  void fill(TasksChanged& out) {
    out = {JobId(word()), StepIndex(count32()), {}, status(), text(), text()};
    for (std::int64_t begin = below(10); maybe(); begin += 20) {
      out.ranges.emplace_back(begin, begin + 1 + below(10));
    }
  }
  void fill(LaneOpened& out) {
    out = {LaneId(count64()), JobId(word()), StepIndex(count32()), {}, resources(), 0};
    out.port = static_cast<std::int32_t>(below(65'536));
    if (maybe()) {
      out.holding = Lease{duration(), text()};
      return;
    }
    Places places;
    do {
      places.all.push_back({NodeId(word()), count32(), devices()});
    } while (maybe());
    out.holding = std::move(places);
  }
  void fill(LaneExtended& out) {
    out = {LaneId(count64()), JobId(word()), StepIndex(count32()), {}};
    while (maybe()) {
      LaneTask& task = out.tasks.emplace_back();
      task = {TaskIndex(count64()), AttemptNumber(count32()), {}};
      while (maybe()) task.params.emplace_back(word(), text());
    }
  }
  void fill(LaneClosed& out) { out = {LaneId(count64()), JobId(word())}; }
  void fill(AttemptRunning& out) { out = {attempt(), LaneId(count64()), time()}; }
  void fill(RankEnded& out) {
    out = {attempt(), count32(), exit_number(), exit_number(), time(), cause()};
  }
  void fill(AttemptStopping& out) { out = {attempt(), LaneId(count64()), status(), text()}; }
  void fill(AttemptEnded& out) {
    out.attempt = attempt();
    out.lane = LaneId(count64());
    out.to = status();
    out.started_at = time();
    out.ended_at = time();
    while (maybe()) out.exits.push_back({count32(), exit_number(), exit_number()});
    out.first_failed = maybe() ? -1 : count32();
    out.fault = fault();
    out.reason = text();
    out.message = text();
    out.task = status();
    out.not_before = time();
    out.charged = maybe();
    for (const std::string& name : names(2)) out.published.emplace_back(name, text());
  }
  void fill(NodeJoined& out) { out = {node(), Incarnation(text()), rank_refs()}; }
  void fill(StrangersEnded& out) { out = {NodeId(word()), rank_refs()}; }
  void fill(DevicesQuarantined& out) {
    out.node = NodeId(word());
    while (maybe()) out.devices.push_back({word(), count32() % 1'000, text(), time(), time()});
  }
  void fill(NodeLeft& out) { out = {NodeId(word()), Incarnation(text()), text()}; }
  void fill(NodeLeaving& out) { out = {NodeId(word()), Incarnation(text()), time(), text()}; }
  void fill(TaskWarned& out) {
    out = {attempt(), count32(), static_cast<HealthProblem>(below(4)),
           text(),    time(),    health_action()};
  }
  void fill(SearchStopped& out) { out = {JobId(word()), StepIndex(count32()), text(), text()}; }
  void fill(RunnerCrashed& out) {
    out = {NodeId(word()), Incarnation(text()), count64(), {}};
    while (maybe()) {
      out.ran.push_back(
          {attempt(), maybe(), maybe() ? -1 : count32(), Duration::millis(count32())});
    }
  }
  void fill(TaskCleared& out) {
    out = {JobId(word()), StepIndex(count32()), TaskIndex(count64()), text()};
  }
  void fill(LaneRenewed& out) { out = {LaneId(count64()), JobId(word())}; }
  void fill(JobArchived& out) { out = {JobId(word())}; }
  void fill(JobRestored& out) { out = {JobId(word()), text()}; }
  void fill(JobDeleted& out) { out = {JobId(word()), text()}; }
  void fill(KeyExpired& out) {
    out.key = text();
    if (maybe()) out.project = ProjectId(word());
    if (maybe()) out.actor = text();
  }
  void fill(JobHalted& out) { out = {JobId(word()), text()}; }
  void fill(TrialAsked& out) {
    out = {JobId(word()), StepIndex(count32()), TaskIndex(count64()), {}};
    while (maybe()) out.params.emplace_back(word(), text());
  }
  void fill(TrialReported& out) { out = {attempt(), count64(), words(3)}; }
  void fill(TrialParked& out) { out = {JobId(word()), StepIndex(count32()), TaskIndex(count64())}; }
  void fill(TrialMoved& out) {
    out.job = JobId(word());
    out.step = StepIndex(count32());
    out.trial = TaskIndex(count64());
    out.donor = TaskIndex(count64());
    out.at = count64();
    while (maybe()) out.params.emplace_back(word(), text());
  }
  void fill(TrialPromoted& out) {
    out = {JobId(word()), StepIndex(count32()), TaskIndex(count64())};
  }
  void fill(TrialTold& out) {
    out = {JobId(word()), StepIndex(count32()), TaskIndex(count64()),
           static_cast<TrialEnd>(below(3)), below(100) - 1};
  }

  void fill(Submit& out) {
    out = {JobId(word()), ProjectId(word()), QueueId(word()), text(), text(),
           text(),        shared_spec()};
    if (maybe()) out.actor = text();
  }
  void fill(JobRequest& out) {
    out = {static_cast<JobRequest::Verb>(below(5)), JobId(word()), text(), text()};
  }
  void fill(TrialCall& out) {
    out.verb = static_cast<TrialCall::Verb>(below(3));
    out.job = JobId(word());
    out.step = StepIndex(count32());
    out.lease = duration();
    out.holder = text();
    out.trial = TaskIndex(count64());
    out.attempt = AttemptNumber(count32());
    out.at = count64();
    out.values = words(3);
    out.end = static_cast<TrialEnd>(below(3));
    out.message = text();
    out.actor = text();
  }
  void fill(NodeJoin& out) {
    out = {node(), Incarnation(text()), rank_reports(),  metrics(), maybe(),
           {},     device_report(),     health_reports()};
    if (maybe()) out.beside.push_back({NodeId(word()), rank_reports()});
  }
  void fill(NodeLost& out) { out = {NodeId(word()), Incarnation(text()), text()}; }
  void fill(NodeReport& out) {
    out = {NodeId(word()), Incarnation(text()), rank_reports(),
           metrics(),      health_reports(),    device_report()};
  }
  void fill(Wake&) {}
  void fill(Recovered&) {}
  void fill(NodesDeclared& out) {
    for (std::uint64_t count = below(4); count > 0; --count) out.nodes.push_back(node());
  }
  void fill(NodeNotice& out) { out = {NodeId(word()), Incarnation(text()), time(), text()}; }

  template <typename Variant, std::size_t... I>
  Variant alternative(std::size_t index, std::index_sequence<I...>) {
    Variant out;
    const auto choose = [&]<std::size_t Choice>() {
      if (Choice == index) fill(out.template emplace<Choice>());
    };
    (choose.template operator()<I>(), ...);
    return out;
  }

  SplitMix64 numbers_;
};

}  // namespace runnel::model
