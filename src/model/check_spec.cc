#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "base/check.h"
#include "model/detail/check_tasks.h"
#include "model/detail/checks.h"
#include "model/spec.h"

namespace runnel::model {
namespace {

constexpr std::int32_t kExitCodeMax = 255;
constexpr std::array<std::string_view, 4> kRetryEvents = {"failed", "node_fail", "out_of_memory",
                                                          "timeout"};

using detail::check_each;
using detail::check_name;
using detail::check_size;
using detail::check_text;
using detail::check_within;
using detail::Distinct;
using detail::invalid;

// What only a step that is run on nodes can have.
Result<void> check_outside(const StepSpec& step) {
  if (!step.search) return invalid("run", "a step needs run or command");
  if (step.rank_count() != 1) return invalid("num_nodes", "nothing is run, so nothing has ranks");
  if (step.checkpoint) return invalid("checkpoint", "nothing is run that could be resumed");
  if (!step.metrics.empty()) return invalid("metrics", "nothing is run that could print any");
  return {};
}

Result<void> check_command(const Command& command) {
  if (command.script.empty() == command.argv.empty()) {
    return invalid("run", command.script.empty() ? "a step needs run or command"
                                                 : "a step has run or command, not both");
  }
  TRY(check_text("run", command.script, kScriptBytesMax));
  std::size_t bytes = 0;
  for (const std::string& word : command.argv) bytes += word.size() + 1;
  TRY(check_size("command", bytes, kScriptBytesMax, "bytes"));
  if (!command.argv.empty() && command.argv.front().empty()) {
    return invalid("command", "the first word is the program and must not be empty");
  }
  return check_each("command", command.argv,
                    [](const std::string& word) { return check_text("", word, kScriptBytesMax); });
}

// One row per kind: a kind without one does not compile.
struct RunCheck {
  const StepSpec& step;
  Result<void> operator()(const Command& command) const { return check_command(command); }
  Result<void> operator()(const ExternalTrials&) const { return check_outside(step); }
};

Result<void> check_places(const StepSpec& step) {
  TRY(check_within("num_nodes", step.num_nodes, 1, kRanksPerTaskMax));
  TRY(check_within("procs_per_node", step.procs_per_node, 1, kRanksPerTaskMax));
  const std::int64_t ranks = std::int64_t{step.num_nodes} * step.procs_per_node;
  if (ranks > kRanksPerTaskMax) {
    return invalid("procs_per_node",
                   "num_nodes times procs_per_node is at most " + std::to_string(kRanksPerTaskMax),
                   std::to_string(ranks));
  }
  if (step.parallel) TRY(check_within("parallel", *step.parallel, 1, kInteger64Max));
  Result<void> done = check_resources(step.resources);
  if (!done.ok()) return detail::inside("resources", std::move(done).error());
  return {};
}

Result<void> check_retry(const RetryPolicy& retry) {
  TRY(check_within("max", retry.max, 0, std::numeric_limits<std::int32_t>::max()));
  TRY(check_size("on_exit_codes", retry.on_exit_codes.size(), kExitCodesMax, "codes"));
  TRY(check_each("on_exit_codes", retry.on_exit_codes,
                 [](std::int32_t code) { return check_within("", code, 0, kExitCodeMax); }));
  TRY(check_size("on_events", retry.on_events.size(), kRetryEvents.size(), "events"));
  TRY(check_each("on_events", retry.on_events, [](const std::string& event) -> Result<void> {
    const bool known =
        std::find(kRetryEvents.begin(), kRetryEvents.end(), event) != kRetryEvents.end();
    if (known) return {};
    return invalid("", "this must be failed, node_fail, out_of_memory or timeout", event);
  }));
  TRY(check_within("backoff_min", retry.backoff_min.millis(), 0, kInteger64Max));
  return check_within("backoff_max", retry.backoff_max.millis(), retry.backoff_min.millis(),
                      kInteger64Max);
}

Result<void> check_checkpoint(const CheckpointPolicy& checkpoint) {
  if (checkpoint.dir.empty()) return invalid("dir", "this must not be empty");
  TRY(check_text("dir", checkpoint.dir, kPathBytesMax));
  TRY(check_within("every", checkpoint.every.millis(), 0, kInteger64Max));
  if (!checkpoint.exit_code) return {};
  return check_within("exit_code", *checkpoint.exit_code, 1, kExitCodeMax);
}

Result<void> check_log_pattern(const LogPattern& pattern) {
  TRY(check_text("group", pattern.group, kNameBytesMax));
  if (pattern.regex.empty()) return invalid("regex", "this must not be empty");
  TRY(check_text("regex", pattern.regex, kLogPatternBytesMax));
  TRY(check_name("step", pattern.step));
  return check_within("lines", pattern.lines, 1, kLogPatternLinesMax);
}

Result<void> check_metrics(const MetricSources& metrics) {
  TRY(check_size("log", metrics.log.size(), kLogPatternsMax, "patterns"));
  TRY(check_each("log", metrics.log, check_log_pattern));
  TRY(check_text("tensorboard", metrics.tensorboard, kPathBytesMax));
  if (metrics.tensorboard.empty() || stays_inside(metrics.tensorboard)) return {};
  return invalid("tensorboard", "this must be a folder inside the task's own", metrics.tensorboard);
}

Result<void> check_action(const StepSpec& step, HealthAction action) {
  CHECK(step.retry.max >= 0, "retry is checked before health");
  if (action != HealthAction::kRestart || step.retry.max > 0) return {};
  return invalid("action", "a restart costs one of retry.max, which is 0", "restart");
}

Result<void> check_hang(const StepSpec& step, const HangPolicy& hang) {
  TRY(check_within("after", hang.after.millis(), kSilenceMin.millis(), kInteger64Max));
  return check_action(step, hang.action);
}

Result<void> check_nan(const StepSpec& step, const NanPolicy& nan) {
  TRY(check_text("metric", nan.metric, kMetricNameMax));
  return check_action(step, nan.action);
}

Result<void> check_straggler(const StepSpec& step, const StragglerPolicy& straggler) {
  TRY(check_within("factor_permille", straggler.factor_permille, kFactorPermilleMin,
                   kFactorPermilleMax));
  if (step.rank_count() < 2) return invalid("", "one rank cannot be slower than the others");
  return check_action(step, straggler.action);
}

// Tells the first error from outside the policy.
template <typename Policy, typename Check>
Result<void> check_policy(const char* field, const std::optional<Policy>& policy,
                          const StepSpec& step, Check check) {
  if (!policy) return {};
  Result<void> done = check(step, *policy);
  if (!done.ok()) return detail::inside("health", detail::inside(field, std::move(done).error()));
  return {};
}

Result<void> check_health(const StepSpec& step) {
  CHECK(step.rank_count() >= 1, "places are checked before health");
  if (step.health.any() && step.outside()) return invalid("health", "nothing is run here");
  TRY(check_policy("hang", step.health.hang, step, check_hang));
  TRY(check_policy("nan", step.health.nan, step, check_nan));
  return check_policy("straggler", step.health.straggler, step, check_straggler);
}

Result<void> check_policies(const StepSpec& step) {
  Result<void> retry = check_retry(step.retry);
  if (!retry.ok()) return detail::inside("retry", std::move(retry).error());
  if (step.checkpoint) {
    Result<void> checkpoint = check_checkpoint(*step.checkpoint);
    if (!checkpoint.ok()) return detail::inside("checkpoint", std::move(checkpoint).error());
  }
  Result<void> metrics = check_metrics(step.metrics);
  if (!metrics.ok()) return detail::inside("metrics", std::move(metrics).error());
  TRY(check_health(step));
  TRY(check_within("max_duration", step.max_duration.millis(), 0, kInteger64Max));
  TRY(check_within("grace", step.grace.millis(), 0, kInteger64Max));
  return check_within("max_log", step.max_log.count(), 0, kInteger64Max);
}

Result<void> check_variable(const char* field, const std::string& name) {
  TRY(check_name(field, name));
  if (name.find('=') == std::string::npos) return {};
  return invalid(field, "the name of a variable holds no '='", name);
}

Result<void> check_secret(const SecretRef& secret) {
  TRY(check_variable("name", secret.name));
  TRY(check_text("source", secret.source, kPathBytesMax));
  const bool known = secret.source.starts_with("env:") || secret.source.starts_with("file:");
  if (known) return {};
  return invalid("source", "this must begin with env: or file:", secret.source);
}

Result<void> check_variables(const char* field,
                             const std::vector<std::pair<std::string, std::string>>& variables) {
  TRY(check_size(field, variables.size(), kEnvironmentMax, "variables"));
  const std::string* previous = nullptr;
  for (const auto& [name, value] : variables) {
    TRY(check_variable(field, name));
    TRY(check_text(field, value, kScriptBytesMax));
    if (previous != nullptr && *previous >= name) {
      return invalid(field, "variables stand once each, sorted by name", name);
    }
    previous = &name;
  }
  return {};
}

Result<void> check_environment(const StepSpec& step) {
  TRY(check_variables("envs", step.envs));
  TRY(check_size("secrets", step.secrets.size(), kEnvironmentMax, "secrets"));
  Distinct<std::string> distinct;
  return check_each("secrets", step.secrets, [&](const SecretRef& secret) -> Result<void> {
    TRY(check_secret(secret));
    return distinct("name", secret.name, secret.name);
  });
}

Result<void> check_dependencies(const StepSpec& step, std::size_t step_count) {
  Distinct<StepIndex> distinct;
  return check_each("depends_on", step.depends_on, [&](StepIndex other) -> Result<void> {
    TRY(check_within("", other.value(), 0, static_cast<std::int64_t>(step_count) - 1));
    return distinct("", other, std::to_string(other.value()));
  });
}

Result<void> check_step(const StepSpec& step, std::size_t step_count) {
  TRY(check_name("name", step.name));
  TRY(std::visit(RunCheck{step}, step.run));
  TRY(detail::check_tasks(step));
  TRY(check_places(step));
  TRY(check_policies(step));
  TRY(check_environment(step));
  return check_dependencies(step, step_count);
}

// The order in which the steps can run, as far as there is one (Kahn, "Topological sorting of large
// networks", CACM 1962): all of them exactly when no step waits for itself.
std::size_t runnable_steps(const JobSpec& spec) {
  std::vector<std::vector<std::size_t>> followers(spec.steps.size());
  std::vector<std::size_t> waits(spec.steps.size());
  for (std::size_t i = 0; i < spec.steps.size(); ++i) {
    waits[i] = spec.steps[i].depends_on.size();
    for (const StepIndex other : spec.steps[i].depends_on) {
      followers[static_cast<std::size_t>(other.value())].push_back(i);
    }
  }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  for (std::size_t done = 0; done < ready.size(); ++done) {
    CHECK(ready.size() <= waits.size(), "a step is ready twice");
    for (const std::size_t follower : followers[ready[done]]) {
      if (--waits[follower] == 0) ready.push_back(follower);
    }
  }
  return ready.size();
}

}  // namespace

bool stays_inside(std::string_view dir) {
  if (dir.empty() || dir.size() > kPathBytesMax || dir.starts_with('/')) return false;
  while (!dir.empty()) {
    const std::size_t slash = std::min(dir.find('/'), dir.size());
    if (dir.substr(0, slash) == "..") return false;
    dir.remove_prefix(std::min(slash + 1, dir.size()));
  }
  return true;
}

Result<void> check_spec(const JobSpec& spec) {
  TRY(check_text("name", spec.name, kNameBytesMax));
  TRY(check_text("workdir", spec.workdir, kPathBytesMax));
  TRY(check_variables("environment", spec.environment));
  if (spec.steps.empty()) return invalid("steps", "a job needs at least one step");
  TRY(check_size("steps", spec.steps.size(), kStepsMax, "steps"));
  Distinct<std::string> distinct;
  TRY(check_each("steps", spec.steps, [&](const StepSpec& step) -> Result<void> {
    TRY(check_step(step, spec.steps.size()));
    return distinct("name", step.name, step.name);
  }));
  if (runnable_steps(spec) == spec.steps.size()) return {};
  return invalid("steps", "some steps wait for each other in a circle");
}

}  // namespace runnel::model
