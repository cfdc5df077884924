// The fields of a step that may also be defaults of a whole file.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/nearest.h"
#include "model/variables.h"
#include "spec/health.h"
#include "spec/metrics.h"
#include "spec/names.h"
#include "spec/scalars.h"
#include "spec/step_draft.h"

namespace runnel::spec {
namespace {

constexpr std::int64_t kRetriesMax = 10'000;
constexpr std::int64_t kExitCodeMax = 255;
constexpr Bytes kLogMin = Bytes::kibi(64);
constexpr Duration kMaxDurationMin = Duration::millis(1);
constexpr Duration kCheckpointEveryMin = Duration::seconds(1);

constexpr std::array<std::string_view, 4> kRetryEvents = {"node_fail", "timeout", "out_of_memory",
                                                          "failed"};

bool is_variable_name(Scope& scope, const Item& item, const std::string& name) {
  if (!is_identifier(name)) {
    scope.refuse(item, "'" + shown(name) + "' cannot be the name of an environment variable",
                 shown(name), "use letters, digits and _, beginning with a letter");
    return false;
  }
  if (model::is_own_variable(name)) {
    scope.refuse(item, "'" + name + "' is set by Runnel itself", name, "choose another name");
    return false;
  }
  return true;
}

void read_env(Scope& scope, const YamlMember& member, const Item& item, StepDraft& draft) {
  const std::string& name = member.key->text;
  if (!is_variable_name(scope, {member.key.get(), item.path}, name)) return;
  PlacedText env{"", item, true};
  if (!item.node->is_null()) {
    const std::optional<std::string> text = read_verbatim(scope, item);
    if (!text) return;
    env.text = *text;
    env.missing = text->empty();
  }
  const auto given = scope.given.find(name);
  scope.variables[name] = given == scope.given.end() ? env.text : given->second;
  draft.envs[name] = std::move(env);
}

void read_event(Scope& scope, const Item& item, model::RetryPolicy& retry) {
  const std::string& event = item.node->text;
  if (std::find(kRetryEvents.begin(), kRetryEvents.end(), event) != kRetryEvents.end()) {
    const bool repeated =
        std::find(retry.on_events.begin(), retry.on_events.end(), event) != retry.on_events.end();
    if (!repeated) retry.on_events.push_back(event);
    return;
  }
  const std::string meant = nearest(event, kRetryEvents);
  scope.refuse(item, "'" + shown(event) + "' is not an event", shown(event),
               meant.empty()
                   ? "the events are " + listed({kRetryEvents.begin(), kRetryEvents.end()})
                   : "did you mean `" + meant + "`?");
}

void read_exit_code(Scope& scope, const Item& item, model::RetryPolicy& retry) {
  const auto value = read_integer(scope, item, {1, kExitCodeMax});
  if (!value) return;
  const auto code = static_cast<std::int32_t>(*value);
  std::vector<std::int32_t>& codes = retry.on_exit_codes;
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
}

// A folder that stays inside the task's own.
bool is_inner_folder(std::string_view dir) {
  return model::stays_inside(dir) && !dir.starts_with('~');
}

void refuse_source(Scope& scope, const Item& item) {
  // The value is not repeated: it may be the secret itself.
  scope.refuse(item, "a secret is given by reference, not by value", "",
               "write env:NAME or file:/path");
}

void read_limits(Scope& scope, ObjectReader& object, model::StepSpec& spec) {
  if (const auto item = object.take("max_duration")) {
    spec.max_duration = read_duration(scope, *item, kMaxDurationMin).value_or(Duration());
  }
  if (const auto item = object.take("grace")) {
    spec.grace = read_duration(scope, *item, Duration()).value_or(spec.grace);
  }
  if (const auto item = object.take("max_log")) {
    spec.max_log = read_bytes(scope, *item, kLogMin).value_or(spec.max_log);
  }
  if (const auto item = object.take("parallel")) {
    spec.parallel = read_count(scope, *item, {1, model::kTasksPerStepMax});
  }
}

}  // namespace

bool is_secret_source(std::string_view source) {
  if (source.starts_with("env:")) return is_identifier(source.substr(4));
  return source.starts_with("file:/") && source.size() > 6 && source.size() < model::kPathBytesMax;
}

void read_envs(Scope& scope, const Item& item, StepDraft& draft) {
  if (!item.node->is_map()) {
    scope.refuse(
        item,
        "`envs` is a mapping of names to values, and this is " + std::string(kind_name(*item.node)),
        shown(*item.node), "write {NAME: value}");
    return;
  }
  for (const YamlMember& member : item.node->members) {
    read_env(scope, member, {member.value.get(), item.path_of(shown(member.key->text))}, draft);
  }
}

void read_secrets(Scope& scope, const Item& item, StepDraft& draft) {
  if (!item.node->is_map()) {
    for (const Item& name : texts_of(scope, item)) {
      if (!is_variable_name(scope, name, name.node->text)) continue;
      draft.secrets[name.node->text] = {"env:" + name.node->text, name};
    }
    return;
  }
  for (const YamlMember& member : item.node->members) {
    const Item at{member.value.get(), item.path_of(shown(member.key->text))};
    if (!is_variable_name(scope, {member.key.get(), at.path}, member.key->text)) continue;
    if (!at.node->is_scalar() || !is_secret_source(at.node->text)) {
      refuse_source(scope, at);
      continue;
    }
    draft.secrets[member.key->text] = {at.node->text, at};
  }
}

void read_resources(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, resource_fields());
  if (!object) return;
  draft.resources = item;
  draft.spec.resources = {};
  draft.cpus_given = false;
  if (const auto cpus = object->take("cpus")) {
    draft.spec.resources.milli_cpus = read_cpus(scope, *cpus).value_or(0);
    draft.cpus_given = true;
  }
  if (const auto memory = object->take("memory")) {
    draft.spec.resources.memory = read_bytes(scope, *memory, Bytes::mebi(1)).value_or(Bytes());
  }
  if (const auto devices = object->take("accelerators")) {
    draft.spec.resources.accelerators = read_accelerators(scope, *devices).value_or(Accelerators());
    if (draft.spec.resources.accelerators.size() > 1) {
      scope.refuse(*devices, Error(Errc::kUnsupported,
                                   "several kinds of devices at once are not in this version")
                                 .with_value(shown(*devices->node))
                                 .with_hint("ask for one, such as H100:8"));
    }
  }
  draft.spec.spot = false;
  if (const auto spot = object->take("spot")) {
    draft.spec.spot = read_boolean(scope, *spot).value_or(false);
  }
  object->done();
}

void read_retry(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, retry_fields());
  if (!object) return;
  model::RetryPolicy& retry = draft.spec.retry;
  retry = {};
  const std::optional<Item> max = object->take("max");
  if (max) {
    const auto value = read_count(scope, *max, {0, kRetriesMax});
    retry.max = static_cast<std::int32_t>(value.value_or(0));
  } else {
    scope.refuse(item, "`max` is missing: without it nothing is tried again", "",
                 "write how many more attempts a task may have, such as max: 3");
  }
  if (const auto codes = object->take("on_exit_codes")) {
    for (const Item& code : texts_of(scope, *codes)) read_exit_code(scope, code, retry);
  }
  if (const auto events = object->take("on_events")) {
    for (const Item& event : texts_of(scope, *events)) read_event(scope, event, retry);
  }
  if (const auto backoff = object->take("backoff")) {
    const DurationRange range = read_durations(scope, *backoff).value_or(DurationRange{});
    retry.backoff_min = range.low;
    retry.backoff_max = range.high;
  }
  object->done();
}

void read_checkpoint(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, checkpoint_fields());
  if (!object) return;
  model::CheckpointPolicy checkpoint;
  checkpoint.dir = "checkpoint";
  draft.checkpoint_dir = object->take("dir");
  if (draft.checkpoint_dir) {
    checkpoint.dir = read_text(scope, *draft.checkpoint_dir).value_or(checkpoint.dir);
    if (!is_inner_folder(checkpoint.dir)) {
      scope.refuse(*draft.checkpoint_dir,
                   "'" + shown(checkpoint.dir) + "' leaves the task's folder",
                   shown(checkpoint.dir), "write a relative path without .., such as ckpt");
    }
  }
  if (const auto every = object->take("every")) {
    checkpoint.every = read_duration(scope, *every, kCheckpointEveryMin).value_or(Duration());
  }
  if (const auto code = object->take("exit_code")) {
    const auto value = read_integer(scope, *code, {1, kExitCodeMax});
    if (value) checkpoint.exit_code = static_cast<std::int32_t>(*value);
  }
  object->done();
  draft.spec.checkpoint = std::move(checkpoint);
}

void read_spread_fields(Scope& scope, ObjectReader& object, StepDraft& draft) {
  if ((draft.num_nodes = object.take("num_nodes"))) {
    const auto value = read_count(scope, *draft.num_nodes, {1, model::kRanksPerTaskMax});
    draft.spec.num_nodes = static_cast<std::int32_t>(value.value_or(1));
  }
  if ((draft.procs_per_node = object.take("procs_per_node"))) {
    const auto value = read_count(scope, *draft.procs_per_node, {1, model::kRanksPerTaskMax});
    draft.spec.procs_per_node = static_cast<std::int32_t>(value.value_or(1));
  }
  if (const auto item = object.take("resources")) read_resources(scope, *item, draft);
  if (const auto item = object.take("retry")) read_retry(scope, *item, draft);
  if (const auto item = object.take("checkpoint")) read_checkpoint(scope, *item, draft);
  if (const auto item = object.take("metrics")) read_metric_sources(scope, *item, draft);
  if (const auto item = object.take("health")) read_health(scope, *item, draft);
  if (const auto item = object.take("secrets")) read_secrets(scope, *item, draft);
  read_limits(scope, object, draft.spec);
}

}  // namespace runnel::spec
