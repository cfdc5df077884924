// A job is judged alike whichever way it comes: as a file, by `runnel validate`, and as a
// specification in JSON, by a submission. Random specifications are broken at random and told both
// ways; both must refuse or take them, at the same fields.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/submission.h"
#include "json/value.h"
#include "model/codec.h"
#include "model/parameters.h"
#include "model/spec_words.h"
#include "spec/job_file.h"

namespace runnel::control {
namespace {

using json::Value;
using model::JobSpec;
using model::StepSpec;

Value texts(const std::vector<std::string>& words) {
  Value::List list;
  for (const std::string& word : words) list.push_back(Value::text(word));
  return Value::list(std::move(list));
}

Value millis(Duration duration) { return Value::text(std::to_string(duration.millis()) + "ms"); }

// What a person would have written for the specification: a file in JSON, which is YAML.
class JobFile {
 public:
  static std::string of(const JobSpec& spec) {
    Value file = Value::object();
    file.set("name", Value::text(spec.name));
    file.set("priority", Value::integer(spec.priority));
    file.set("seed", Value::integer(spec.seed));
    Value steps = Value::object();
    for (const StepSpec& each : spec.steps) steps.set(each.name, step(spec, each));
    file.set("steps", std::move(steps));
    return file.dump();
  }

 private:
  static Value step(const JobSpec& spec, const StepSpec& step) {
    Value out = Value::object();
    if (const model::Command* command = step.command()) {
      if (!command->script.empty()) out.set("run", Value::text(command->script));
      if (!command->argv.empty()) out.set("command", texts(command->argv));
    }
    add_needs(out, spec, step);
    add_tasks(out, step);
    if (step.num_nodes != 1) out.set("num_nodes", Value::integer(step.num_nodes));
    if (step.procs_per_node != 1) out.set("procs_per_node", Value::integer(step.procs_per_node));
    if (step.parallel) out.set("parallel", Value::integer(*step.parallel));
    add_resources(out, step);
    add_policies(out, step);
    Value envs = Value::object();
    for (const auto& [name, value] : step.envs) envs.set(name, Value::text(value));
    if (!step.envs.empty()) out.set("envs", std::move(envs));
    Value secrets = Value::object();
    for (const auto& [name, source] : step.secrets) secrets.set(name, Value::text(source));
    if (!step.secrets.empty()) out.set("secrets", std::move(secrets));
    return out;
  }

  static void add_needs(Value& out, const JobSpec& spec, const StepSpec& step) {
    std::vector<std::string> names;
    for (const StepIndex need : step.depends_on) {
      names.push_back(spec.steps[static_cast<std::size_t>(need.value())].name);
    }
    if (!names.empty()) out.set("depends_on", texts(names));
  }

  static Value parameter(const model::Parameter& parameter) {
    if (parameter.kind == model::Parameter::Kind::kChoice) return texts(parameter.values);
    Value out = Value::object();
    const auto kind = static_cast<std::size_t>(parameter.kind);
    out.set(std::string(model::kParameterKindWords[kind]), texts({parameter.low, parameter.high}));
    if (parameter.log) out.set("log", Value::boolean(true));
    return out;
  }

  static void add_tasks(Value& out, const StepSpec& step) {
    Value params = Value::object();
    for (const model::Parameter& each : step.params) params.set(each.name, parameter(each));
    if (!step.params.empty()) out.set("params", std::move(params));
    if (step.samples) out.set("samples", Value::integer(*step.samples));
    if (step.search) out.set("search", search(*step.search));
  }

  static Value search(const model::SearchSpec& search) {
    Value out = Value::object();
    Value objectives = Value::object();
    for (const model::Objective& each : search.objectives) {
      objectives.set(each.metric, Value::text(each.maximize ? "max" : "min"));
    }
    out.set("objectives", std::move(objectives));
    out.set("max_trials", Value::integer(search.max_trials));
    const auto method = static_cast<std::size_t>(search.method);
    out.set("method", Value::text(std::string(model::kSearchMethodWords[method])));
    if (search.pruner) {
      const auto kind = static_cast<std::size_t>(search.pruner->kind);
      out.set("pruner", Value::text(std::string(model::kPrunerKindWords[kind])));
    }
    Value::List start;
    for (const auto& point : search.start) {
      Value each = Value::object();
      for (const auto& [name, value] : point) each.set(name, Value::text(value));
      start.push_back(std::move(each));
    }
    if (!start.empty()) out.set("start", Value::list(std::move(start)));
    return out;
  }

  static void add_resources(Value& out, const StepSpec& step) {
    Value resources = Value::object();
    const std::int64_t bytes = step.resources.memory.count();
    if (bytes != 0) resources.set("memory", Value::text(std::to_string(bytes) + "B"));
    Value devices = Value::object();
    for (const auto& [name, count] : step.resources.accelerators) {
      devices.set(name, Value::integer(count));
    }
    if (!step.resources.accelerators.empty()) resources.set("accelerators", std::move(devices));
    if (!resources.as_object().empty()) out.set("resources", std::move(resources));
  }

  static void add_policies(Value& out, const StepSpec& step) {
    if (step.retry != model::RetryPolicy()) {
      Value retry = Value::object();
      retry.set("max", Value::integer(step.retry.max));
      if (!step.retry.on_events.empty()) retry.set("on_events", texts(step.retry.on_events));
      Value::List codes;
      for (const std::int32_t code : step.retry.on_exit_codes)
        codes.push_back(Value::integer(code));
      if (!codes.empty()) retry.set("on_exit_codes", Value::list(std::move(codes)));
      out.set("retry", std::move(retry));
    }
    if (step.checkpoint) {
      Value checkpoint = Value::object();
      checkpoint.set("dir", Value::text(step.checkpoint->dir));
      if (!step.checkpoint->every.is_zero())
        checkpoint.set("every", millis(step.checkpoint->every));
      out.set("checkpoint", std::move(checkpoint));
    }
    Value metrics = Value::object();
    std::vector<std::string> patterns;
    for (const model::LogPattern& pattern : step.metrics.log) patterns.push_back(pattern.regex);
    if (!patterns.empty()) metrics.set("log", texts(patterns));
    const std::string& folder = step.metrics.tensorboard;
    if (!folder.empty()) metrics.set("tensorboard", Value::text(folder));
    if (!step.metrics.empty()) out.set("metrics", std::move(metrics));
    Value health = Value::object();
    if (step.health.hang) {
      Value hang = Value::object();
      hang.set("after", millis(step.health.hang->after));
      hang.set("action", Value::text(std::string(model::to_string(step.health.hang->action))));
      health.set("hang", std::move(hang));
    }
    if (step.health.straggler) health.set("straggler", Value::text("warn"));
    if (step.health.any()) out.set("health", std::move(health));
    out.set("max_log", Value::text(std::to_string(step.max_log.count()) + "B"));
    out.set("grace", millis(step.grace));
  }
};

// Three steps, the first a search, and up to three things that may be wrong with them. No number is
// out of its field's limits where another rule rests on it: a file's reader takes the default then.
class Breaker {
 public:
  explicit Breaker(std::uint64_t seed) : random_(seed) {}

  JobSpec next() {
    JobSpec spec{.name = "job", .workdir = "/tmp"};
    for (const char* name : {"search", "between", "use"}) {
      spec.steps.push_back(
          StepSpec{.name = name, .run = model::Command::shell("train {{task.index}}")});
    }
    StepSpec& first = spec.steps[0];
    first.params = {
        {.name = "lr", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"},
        {.name = "of", .values = {"sgd", "adam"}}};
    first.search = model::SearchSpec{.objectives = {{"loss", false}}, .max_trials = 4};
    if (maybe()) spec.steps[1].depends_on = {StepIndex(0)};
    if (maybe()) spec.steps[2].depends_on = {StepIndex(1)};
    for (std::uint64_t changes = below(4); changes > 0; --changes) {
      change(spec, spec.steps[below(spec.steps.size())]);
    }
    for (StepSpec& step : spec.steps) drop_repeated(step);
    for (StepSpec& step : spec.steps) step.task_count = model::task_count_of(step).value_or(1);
    return spec;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool maybe() { return below(2) == 0; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }

  // No mapping has a key twice.
  static void drop_repeated(StepSpec& step) {
    std::set<std::string> names;
    std::erase_if(step.params, [&](const auto& each) { return !names.insert(each.name).second; });
    if (!step.search) return;
    std::erase_if(step.search->objectives,
                  [&](const auto& each) { return !names.insert(each.metric).second; });
  }

  void change(JobSpec& spec, StepSpec& step) {
    switch (below(4)) {
      case 0: return change_texts(spec, step);
      case 1: return change_tasks(step);
      case 2: return change_places(step);
      default: return change_policies(step);
    }
  }

  void change_texts(JobSpec& spec, StepSpec& step) {
    switch (below(9)) {
      case 0: spec.name = one_of<const char*>({"../x", "a b", "", "a.b"}); break;
      case 1: step.name = one_of<const char*>({"a.b", "a b", "fine", "x/y"}); break;
      case 2:
        step.run = model::Command::shell(
            one_of<const char*>({"{{lr}}", "{{no}}", "{{task.index", "{{{{x}}"}));
        break;
      case 3:
        step.run = model::Command::shell(
            one_of<const char*>({"{{best.search.lr}}", "{{best.search.no}}"}));
        break;
      case 4:
        step.run =
            model::Command::shell(one_of<const char*>({"{{best.use.lr}}", "{{best.search}}"}));
        break;
      case 5:
        step.run =
            model::Command::words({"echo", one_of<const char*>({"{{of}}", "{{task.count}}"})});
        break;
      case 6: step.envs = {{one_of<const char*>({"A", "1A", "RUNNEL_JOB_ID"}), "{{lr}}"}}; break;
      case 7: step.secrets = {{one_of<const char*>({"A", "B", "b c"}), "file:/etc/x"}}; break;
      default: spec.seed = one_of<std::int64_t>({0, -1}); break;
    }
  }

  void change_tasks(StepSpec& step) {
    using enum model::Parameter::Kind;
    switch (below(6)) {
      case 0: step.samples = one_of<std::int64_t>({1, 8}); break;
      case 1:
        step.params.push_back({.name = one_of<const char*>({"n", "1n"}),
                               .kind = kRange,
                               .low = one_of<const char*>({"0", "5"}),
                               .high = "4",
                               .log = step.search && maybe()});
        break;
      case 2:
        step.params.push_back({.name = "real",
                               .kind = one_of({kUniform, kLogUniform}),
                               .low = "0",
                               .high = one_of<const char*>({"0", "1"})});
        break;
      case 3: step.params.clear(); break;
      case 4: change_search(step); break;
      default: step.search.reset(); break;
    }
  }

  void change_search(StepSpec& step) {
    if (!step.search) return;
    using enum model::SearchSpec::Method;
    switch (below(4)) {
      case 0: step.search->objectives.push_back({"seconds", true}); break;
      case 1: step.search->method = one_of({kTpe, kRandom, kNsga2}); break;
      case 2:
        step.search->pruner.emplace().kind =
            one_of({model::PrunerSpec::Kind::kAsha, model::PrunerSpec::Kind::kHyperband});
        break;
      default: step.search->start = {{{one_of<const char*>({"lr", "no"}), "0.5"}}}; break;
    }
  }

  void change_places(StepSpec& step) {
    switch (below(5)) {
      case 0: step.num_nodes = one_of({2, 100'000}); break;
      case 1: step.procs_per_node = one_of({1, 2}); break;
      case 2: step.resources.memory = Bytes::count(one_of<std::int64_t>({5, 1 << 30})); break;
      case 3: step.resources.accelerators = {{one_of<const char*>({"H100", "a b"}), 1}}; break;
      default: step.resources.accelerators["A100"] = 1; break;
    }
  }

  void change_policies(StepSpec& step) {
    switch (below(9)) {
      case 0: step.retry.max = one_of({3, 10'000}); break;
      case 1: step.retry.on_exit_codes = {one_of({75, 0, 256})}; break;
      case 2: step.retry.on_events = {one_of<const char*>({"timeout", "boredom"})}; break;
      case 3:
        step.checkpoint = {.dir = one_of<const char*>({"ckpt", "../x", "/x", "~x", "{{no}}"})};
        break;
      case 4:
        step.checkpoint = {.dir = "c", .every = Duration::millis(one_of({500, 5'000}))};
        break;
      case 5: step.metrics.tensorboard = one_of<const char*>({"tb", "../tb", "~/tb"}); break;
      case 6: step.metrics.log = {{"", one_of<const char*>({"%{INT:x}", "(x", "nothing"})}}; break;
      case 7:
        step.health.hang =
            model::HangPolicy{Duration::millis(one_of({500, 5'000})),
                              one_of({model::HealthAction::kRestart, model::HealthAction::kWarn})};
        break;
      default:
        if (maybe()) step.health.straggler.emplace();
        step.max_log = one_of({Bytes::gibi(1), Bytes::count(1)});
        break;
    }
  }

  std::mt19937_64 random_;
};

// "steps.train.retry" of both ways of writing "spec.steps[1].retry.max".
std::string field_of(std::string path, const JobSpec& spec) {
  if (path.starts_with("spec.")) path.erase(0, 5);
  if (path.starts_with("steps[")) {
    const std::size_t end = path.find(']');
    const auto at = static_cast<std::size_t>(path[6] - '0');
    path = "steps." + spec.steps.at(at).name + path.substr(end + 1);
  }
  for (const StepSpec& step : spec.steps) {
    const std::string begin = "steps." + step.name + ".";
    if (!path.starts_with(begin)) continue;
    return begin + path.substr(begin.size(), path.find_first_of(".[", begin.size()) - begin.size());
  }
  return path;
}

// In the same words, or at the same field: what is missing stands, in a file, at what lacks it, and
// an amount is told in the file's units.
bool is_same(const Error& one, const Error& other, const JobSpec& spec) {
  if (one.message == other.message) return true;
  const std::string a = field_of(one.field, spec);
  const std::string b = field_of(other.field, spec);
  return a == b || a.starts_with(b + ".") || b.starts_with(a + ".");
}

bool tells(const std::vector<Error>& errors, const Error& wanted, const JobSpec& spec) {
  return std::ranges::any_of(errors,
                             [&](const Error& each) { return is_same(each, wanted, spec); });
}

std::string told(const std::vector<Error>& errors) {
  std::string text;
  for (const Error& error : errors) text += error.to_string() + "\n";
  return text;
}

void expect_alike(const JobSpec& spec) {
  const std::string text = JobFile::of(spec);
  const std::string json = model::encode_text(spec);
  const spec::JobFileReport file = spec::parse_job_file_all(text, {});
  const Result<Submission> posted = read_submission("{\"spec\":" + json + "}", "ann");
  std::vector<Error> answered;
  if (!posted.ok()) {
    answered = posted.error().others;
    answered.insert(answered.begin(), posted.error());
  }
  const std::string both = text + "\nfile:\n" + told(file.errors) + "post:\n" + told(answered);
  ASSERT_EQ(file.spec.has_value(), posted.ok()) << both;
  for (const Error& fault : answered) {
    EXPECT_TRUE(tells(file.errors, fault, spec)) << fault.to_string() << "\n" << both;
  }
  for (const Error& fault : file.errors) {
    EXPECT_TRUE(tells(answered, fault, spec)) << fault.to_string() << "\n" << both;
  }
}

int judgements() {
  const char* wanted = std::getenv("RUNNEL_JUDGEMENTS");
  return wanted == nullptr ? 3'000 : std::stoi(wanted);
}

TEST(OneJudgement, AFileAndASubmissionAreRefusedForTheSame) {
  Breaker breaker(1);
  int sound = 0;
  int refused = 0;
  for (int round = judgements(); round > 0; --round) {
    const JobSpec spec = breaker.next();
    std::set<std::string> names;
    for (const StepSpec& step : spec.steps) names.insert(step.name);
    if (names.size() < spec.steps.size()) continue;  // No mapping has a key twice.
    expect_alike(spec);
    if (::testing::Test::HasFailure()) return;
    spec::parse_job_file(JobFile::of(spec), {}).ok() ? ++sound : ++refused;
  }
  EXPECT_GT(sound, judgements() / 20);
  EXPECT_GT(refused, judgements() / 4);
}

// `runnel validate` took it and `runnel run` refused it, when there were three judges.
TEST(OneJudgement, ABestIsKnownThroughAStepBetween) {
  JobSpec spec{.name = "job", .workdir = "/tmp"};
  StepSpec search{.name = "search", .run = model::Command::shell("train {{lr}}")};
  search.params = {
      {.name = "lr", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  search.search = model::SearchSpec{.objectives = {{"loss", false}}, .max_trials = 4};
  search.task_count = 4;
  StepSpec between{
      .name = "between", .depends_on = {StepIndex(0)}, .run = model::Command::shell("true")};
  StepSpec use{.name = "use",
               .depends_on = {StepIndex(1)},
               .run = model::Command::shell("train {{best.search.lr}}")};
  spec.steps = {search, between, use};
  EXPECT_TRUE(read_submission("{\"spec\":" + model::encode_text(spec) + "}", "ann").ok());
  EXPECT_TRUE(spec::parse_job_file(JobFile::of(spec), {}).ok());
}

}  // namespace
}  // namespace runnel::control
