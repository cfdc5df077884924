#include <algorithm>
#include <limits>
#include <optional>
#include <variant>

#include "base/nearest.h"
#include "base/shown.h"
#include "model/detail/checks.h"
#include "model/names.h"
#include "model/spec_words.h"
#include "model/variables.h"

namespace runnel::model::detail {
namespace {

constexpr Duration kLongest = Duration::millis(kInteger64Max);

Duration longest(const Site& at) { return at.submitted() ? kDurationMax : kLongest; }

// Before its factors are known to be sound.
std::int64_t ranks_of(const StepSpec& step) {
  return std::int64_t{step.num_nodes} * step.procs_per_node;
}

// Inside the task's own folder, and where it says.
bool is_inner_folder(std::string_view dir) { return stays_inside(dir) && !dir.starts_with('~'); }

// Refuses what only a step that is run on nodes can have.
void check_outside(const Site& at, const StepSpec& step) {
  const auto refuse = [&](std::string_view field) {
    at.at(field).refuse(
        "nothing is run here: a search without `run` and `command` gives its trials to whoever "
        "asks",
        "", "remove `" + std::string(field) + "`, or add run: COMMAND");
  };
  if (ranks_of(step) != 1) refuse("num_nodes");
  if (step.checkpoint) refuse("checkpoint");
  if (!step.metrics.empty()) refuse("metrics");
  if (step.health.any()) refuse("health");
  if (!step.volumes.empty()) refuse("volumes");
  if (!at.submitted() || step.search->budget.is_zero()) return;
  at.at("search")
      .at("budget_micros")
      .refuse("nothing is run here, so nothing is spent of `budget`", "",
              "remove search.budget, or add run: COMMAND");
}

void check_script_size(const Site& at, std::size_t size) {
  if (size <= kScriptBytesMax) return;
  at.refuse(std::to_string(size) + " bytes are more than a step's command may have (" +
                std::to_string(kScriptBytesMax) + ")",
            std::to_string(size), "put the script into a file and run that");
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

void check_command(const Site& at, const std::vector<std::string>& command) {
  std::size_t size = 0;
  for (const std::string& word : command) size += word.size() + 1;
  check_script_size(at, size);
  if (!command.empty() && command.front().empty()) {
    at.refuse("the program's name is empty", "", "write the program first: [program, argument]");
  }
  for (std::size_t i = 0; i < command.size() && size <= kScriptBytesMax; ++i) {
    at.at(i).text(command[i], kScriptBytesMax);
  }
}

// One row per kind: a kind without one does not compile.
struct RunCheck {
  const Site& at;
  const StepSpec& step;

  void operator()(const Command& command) const {
    if (!command.script.empty() && !command.argv.empty()) {
      return at.at("command").refuse(
          "`run` and `command` are both given", "",
          "keep `run` for a shell script, or `command` for a program without a shell");
    }
    const bool nothing = at.submitted() ? is_blank(command.script) : command.script.empty();
    if (nothing && command.argv.empty()) return nothing_to_run(at);
    check_script_size(at.at("run"), command.script.size());
    at.at("run").text(command.script, std::numeric_limits<std::size_t>::max());
    check_command(at.at("command"), command.argv);
  }

  void operator()(const ExternalTrials&) const {
    step.search ? check_outside(at, step) : nothing_to_run(at);
  }

  static void nothing_to_run(const Site& at) {
    at.at("run").refuse("there is nothing to run", "",
                        "add `run: COMMAND` or `command: [program, argument]`");
  }
};

void check_accelerators(const Site& at, const StepSpec& step) {
  for (const auto& [name, count] : step.resources.accelerators) {
    if (at.full()) return;
    at.at(name).within(count, at.submitted() ? 1 : 0, kAcceleratorsMax);
    if (!at.submitted() || is_name(name)) continue;
    at.at(name).refuse("'" + shown(name) + "' is not the name of a device", name,
                       "write a name and a count, such as H100:8");
  }
  if (!at.submitted() || step.resources.accelerators.size() < 2) return;
  at.refuse("several kinds of devices at once are not in this version", "",
            "ask for one, such as H100:8");
}

void check_resources(const Site& at, const StepSpec& step) {
  const Resources& asked = step.resources;
  at.at("milli_cpus").within(asked.milli_cpus, 0, kMilliCpusMax);
  const bool some = at.submitted() && !asked.memory.is_zero();
  at.at("memory").within(asked.memory.count(), some ? kMemoryAskedMin.count() : 0,
                         kMemoryMax.count());
  check_accelerators(at.at("accelerators"), step);
}

void check_places(const Site& at, const StepSpec& step) {
  const bool nodes = at.at("num_nodes").within(step.num_nodes, 1, kRanksPerTaskMax);
  const bool processes = at.at("procs_per_node").within(step.procs_per_node, 1, kRanksPerTaskMax);
  if (nodes && processes && ranks_of(step) > kRanksPerTaskMax) {
    const std::string ranks = std::to_string(ranks_of(step));
    at.at(step.num_nodes > 1 ? "num_nodes" : "procs_per_node")
        .refuse(ranks + " processes in one gang are more than " + std::to_string(kRanksPerTaskMax),
                ranks, "use fewer nodes or fewer processes per node");
  }
  if (step.parallel) {
    at.at("parallel").within(*step.parallel, 1, at.submitted() ? kTasksPerStepMax : kInteger64Max);
  }
  check_resources(at.at("resources"), step);
}

void check_event(const Site& at, const std::string& event) {
  const auto& words = kRetryEventWords;
  if (std::ranges::find(words, event) != words.end()) return;
  const std::string meant = nearest(event, words);
  at.refuse("'" + shown(event) + "' is not an event", event,
            meant.empty() ? "the events are " + listed({words.begin(), words.end()})
                          : "did you mean `" + meant + "`?");
}

void check_retry(const Site& at, const RetryPolicy& retry) {
  at.at("max").within(retry.max, 0,
                      at.submitted() ? kRetriesMax : std::numeric_limits<std::int32_t>::max());
  const Site codes = at.at("on_exit_codes");
  if (codes.sized(retry.on_exit_codes.size(), kExitCodesMax, "codes")) {
    for (std::size_t i = 0; i < retry.on_exit_codes.size(); ++i) {
      codes.at(i).within(retry.on_exit_codes[i], at.submitted() ? 1 : 0, kExitCodeMax);
    }
  }
  const Site events = at.at("on_events");
  if (events.sized(retry.on_events.size(), kRetryEventWords.size(), "events")) {
    for (std::size_t i = 0; i < retry.on_events.size(); ++i) {
      check_event(events.at(i), retry.on_events[i]);
    }
  }
  if (!at.at("backoff_min").within(retry.backoff_min, Duration(), longest(at))) return;
  at.at("backoff_max").within(retry.backoff_max, retry.backoff_min, longest(at));
}

void check_checkpoint(const Site& at, const CheckpointPolicy& checkpoint) {
  const std::string& dir = checkpoint.dir;
  if (dir.empty()) {
    at.at("dir").refuse("this must not be empty", "", "write a relative path, such as ckpt");
  } else if (at.at("dir").text(dir, kPathBytesMax) && at.submitted() && !is_inner_folder(dir)) {
    at.at("dir").refuse("'" + shown(dir) + "' leaves the task's folder", dir,
                        "write a relative path without .., such as ckpt");
  }
  const bool seldom = at.submitted() && !checkpoint.every.is_zero();
  at.at("every").within(checkpoint.every, seldom ? kCheckpointEveryMin : Duration(), longest(at));
  if (checkpoint.exit_code) at.at("exit_code").within(*checkpoint.exit_code, 1, kExitCodeMax);
}

void check_log_pattern(const Site& at, const LogPattern& pattern) {
  at.at("group").text(pattern.group, kNameBytesMax);
  if (at.submitted() && !pattern.group.empty() && !is_name(pattern.group)) {
    at.at("group").refuse("'" + shown(pattern.group) + "' " +
                              name_fault(pattern.group, "cannot be the name of a group"),
                          pattern.group, "use letters, digits, '-', '_' and '.'");
  }
  if (pattern.regex.empty()) {
    at.at("regex").refuse("an empty pattern finds nothing", "", "write 'loss = %{FLOAT:loss}'");
  }
  at.at("regex").text(pattern.regex, kLogPatternBytesMax);
  at.at("step").named(pattern.step);
  at.at("lines").within(pattern.lines, 1, kLogPatternLinesMax);
}

void check_metrics(const Site& at, const MetricSources& metrics) {
  const Site log = at.at("log");
  if (log.sized(metrics.log.size(), kLogPatternsMax, "patterns")) {
    for (std::size_t i = 0; i < metrics.log.size(); ++i)
      check_log_pattern(log.at(i), metrics.log[i]);
  }
  const std::string& folder = metrics.tensorboard;
  if (!at.at("tensorboard").text(folder, kPathBytesMax) || folder.empty()) return;
  if (at.submitted() ? is_inner_folder(folder) : stays_inside(folder)) return;
  at.at("tensorboard")
      .refuse("'" + shown(folder) + "' leaves the task's folder", folder,
              "write a relative path without .., such as tb, and let the program write to "
              "$RUNNEL_TASK_DIR/tb");
}

void check_action(const Site& at, const StepSpec& step, HealthAction action) {
  if (action != HealthAction::kRestart || step.retry.max != 0) return;
  at.at("action").refuse("a restart costs one of `retry.max`, which is 0", "restart",
                         "add retry: {max: 3}, or write kill or warn");
}

std::string decimal_of(std::int64_t permille) {
  std::string text = std::to_string(permille / 1'000);
  if (permille % 1'000 == 0) return text;
  text += "." + std::to_string(1'000 + permille % 1'000).substr(1);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

void check_straggler(const Site& at, const StepSpec& step, const StragglerPolicy& straggler) {
  const std::int64_t factor = straggler.factor_permille;
  if (factor < kFactorPermilleMin || factor > kFactorPermilleMax) {
    const std::string text = factor < 0 ? std::to_string(factor) + "/1000" : decimal_of(factor);
    at.at("factor_permille")
        .refuse("'" + text + "' is not a factor above 1 and up to " +
                    std::to_string(kFactorPermilleMax / 1'000),
                text, "write how many times slower than the others is too slow, such as 3");
  }
  check_action(at, step, straggler.action);
  if (ranks_of(step) >= 2) return;
  at.refuse("the step has one rank, which cannot be slower than the others", "1",
            "remove `straggler`, or give the step several: num_nodes, procs_per_node");
}

void check_health(const Site& at, const StepSpec& step) {
  const HealthPolicy& health = step.health;
  if (health.hang) {
    at.at("hang").at("after").within(health.hang->after, kSilenceMin, longest(at));
    check_action(at.at("hang"), step, health.hang->action);
  }
  if (health.nan) {
    at.at("nan").at("metric").text(health.nan->metric, kMetricNameMax);
    check_action(at.at("nan"), step, health.nan->action);
  }
  if (health.straggler) check_straggler(at.at("straggler"), step, *health.straggler);
}

void check_policies(const Site& at, const StepSpec& step) {
  check_retry(at.at("retry"), step.retry);
  if (step.checkpoint) check_checkpoint(at.at("checkpoint"), *step.checkpoint);
  check_metrics(at.at("metrics"), step.metrics);
  if (!step.is_external()) check_health(at.at("health"), step);
  at.at("max_duration").within(step.max_duration, Duration(), longest(at));
  at.at("grace").within(step.grace, Duration(), longest(at));
  at.at("max_log").within(step.max_log.count(), at.submitted() ? kLogMin.count() : 0,
                          at.submitted() ? kMemoryMax.count() : kInteger64Max);
}

bool check_variable(const Site& at, const std::string& name) {
  if (!at.submitted()) {
    if (!at.named(name)) return false;
    if (name.find('=') == std::string::npos) return true;
    at.refuse("the name of a variable holds no '='", name, "leave it out");
    return false;
  }
  const std::optional<Error> fault = variable_fault(name);
  if (fault) at.refuse(*fault);
  return !fault;
}

void check_envs(const Site& at, const StepSpec& step) {
  at.sized(step.envs.size(), kEnvironmentMax, "variables");
  const std::string* previous = nullptr;
  for (const auto& [name, value] : step.envs) {
    if (at.full()) return;
    if (!check_variable(at.at(name), name)) continue;
    at.at(name).text(value, kScriptBytesMax);
    if (previous != nullptr && *previous >= name) {
      at.at(name).refuse("variables stand once each, sorted by name", name, "sort them");
    }
    previous = &name;
  }
}

void check_secret(const Site& at, const StepSpec& step, const SecretRef& secret) {
  check_variable(at, secret.name);
  at.text(secret.source, kPathBytesMax);
  const bool known = secret.source.starts_with("env:") || secret.source.starts_with("file:");
  if (at.submitted() ? !is_secret_source(secret.source) : !known) {
    // The value is not repeated: it may be the secret itself.
    at.refuse("a secret is given by reference, not by value", "", "write env:NAME or file:/path");
  }
  if (!at.submitted()) return;
  const auto is_it = [&](const auto& variable) { return variable.first == secret.name; };
  if (std::ranges::none_of(step.envs, is_it)) return;
  at.refuse("'" + shown(secret.name) + "' is in `envs` as well", secret.name,
            "keep it in one of the two");
}

void check_secrets(const Site& at, const StepSpec& step) {
  if (!at.sized(step.secrets.size(), kEnvironmentMax, "secrets")) return;
  Seen<std::string> names;
  for (std::size_t i = 0; i < step.secrets.size() && !at.full(); ++i) {
    const SecretRef& secret = step.secrets[i];
    const bool plain = is_identifier(secret.name);
    const Site here = plain ? at.at(secret.name) : at.at(i);
    check_secret(here, step, secret);
    if (!names.again(secret.name)) continue;
    here.refuse("there are two secrets '" + shown(secret.name) + "'", secret.name,
                "keep one of the two");
  }
}

std::string volume_rule() {
  return "write 1 to " + std::to_string(kVolumeNameMax) +
         " of a-z, 0-9, '-', '_' and '.', as `runnel volume list` shows them";
}

// "": where the volume is by the list of the home.
bool is_store_url(const std::string& text) {
  return text.empty() || text.starts_with("file:///") || text.starts_with("s3://");
}

void check_volume(const Site& at, const VolumeUse& use) {
  const bool has_name = at.at("name").named(use.name);
  const bool has_volume = at.at("volume").named(use.volume);
  const bool has_version = use.is_written() || at.at("version").named(use.version);
  at.at("store").text(use.store, kPathBytesMax);
  if (!at.submitted() || !has_name || !has_volume || !has_version) return;
  if (!is_step_name(use.name)) {
    at.at("name").refuse(
        "'" + shown(use.name) + "' " + name_fault(use.name, "cannot be the name of a volume here"),
        use.name, "use letters, digits, '-' and '_'");
  }
  if (!is_volume_name(use.volume)) {
    at.at("volume").refuse("'" + shown(use.volume) + "' cannot be the name of a volume", use.volume,
                           volume_rule());
  }
  if (!is_store_url(use.store)) {
    at.at("store").refuse("'" + shown(use.store) + "' is no store of volumes", use.store,
                          "write file:///FOLDER or s3://BUCKET/PREFIX");
  }
  if (use.is_written() ? use.version.empty() : is_name(use.version)) return;
  if (use.is_written()) {
    at.at("version").refuse("a volume that is written goes on from its newest version", use.version,
                            "leave it out");
    return;
  }
  at.at("version").refuse("'" + shown(use.version) + "' cannot be a version", use.version,
                          "write latest, a tag, or an id of `runnel volume versions`");
}

void check_volumes(const Site& at, const StepSpec& step) {
  if (!at.sized(step.volumes.size(), kVolumesMax, "volumes")) return;
  Seen<std::string> variables;
  const std::string* previous = nullptr;
  for (std::size_t i = 0; i < step.volumes.size() && !at.full(); ++i) {
    const VolumeUse& use = step.volumes[i];
    const Site here = is_step_name(use.name) ? at.at(use.name) : at.at(i);
    check_volume(here, use);
    if (previous != nullptr && *previous >= use.name) {
      here.refuse("volumes stand once each, sorted by name", use.name, "sort them");
    }
    previous = &use.name;
    const std::string variable = volume_variable(use.name);
    if (!variables.again(variable) || !at.submitted()) continue;
    here.refuse("two volumes would be in $" + variable, use.name, "rename one of them");
  }
}

}  // namespace

void check_step(const Site& at, const StepSpec& step) {
  std::visit(RunCheck{at, step}, step.run);
  check_places(at, step);
  check_policies(at, step);
  check_envs(at.at("envs"), step);
  check_secrets(at.at("secrets"), step);
  check_volumes(at.at("volumes"), step);
}

}  // namespace runnel::model::detail
