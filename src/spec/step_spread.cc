// The fields of a step that may also be defaults of a whole file.
#include <algorithm>

#include "base/check.h"
#include "model/names.h"
#include "spec/health.h"
#include "spec/metrics.h"
#include "spec/scalars.h"
#include "spec/step_draft.h"

namespace runnel::spec {
namespace {

constexpr Duration kMaxDurationMin = Duration::millis(1);

bool is_variable_name(Scope& scope, const Item& item, const std::string& name) {
  const std::optional<Error> fault = model::variable_fault(name);
  if (fault) scope.refuse(item, *fault);
  return !fault;
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

void read_event(const Item& item, model::RetryPolicy& retry) {
  const std::string& event = item.node->text;
  std::vector<std::string>& events = retry.on_events;
  if (std::find(events.begin(), events.end(), event) == events.end()) events.push_back(event);
}

void read_exit_code(Scope& scope, const Item& item, model::RetryPolicy& retry) {
  const auto value = read_integer(scope, item, {1, model::kExitCodeMax});
  if (!value) return;
  const auto code = static_cast<std::int32_t>(*value);
  std::vector<std::int32_t>& codes = retry.on_exit_codes;
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
}

// The value is not repeated: it may be the secret itself.
void refuse_source(Scope& scope, const Item& item) {
  const std::string_view text = item.node->is_scalar() ? item.node->text : std::string_view();
  if (text.starts_with("file:") && !text.starts_with("file:/")) {
    scope.refuse(item, "the path of a secret's file must be absolute", "", "write file:/path");
    return;
  }
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
    spec.max_log = read_bytes(scope, *item, model::kLogMin).value_or(spec.max_log);
  }
  if (const auto item = object.take("parallel")) {
    spec.parallel = read_count(scope, *item, {1, model::kTasksPerStepMax});
  }
}

}  // namespace

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
    if (!at.node->is_scalar() || !model::is_secret_source(at.node->text)) {
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
    draft.spec.resources.memory =
        read_bytes(scope, *memory, model::kMemoryAskedMin).value_or(Bytes());
  }
  if (const auto devices = object->take("accelerators")) {
    draft.spec.resources.accelerators = read_accelerators(scope, *devices).value_or(Accelerators());
  }
  draft.spec.spot = false;
  if (const auto spot = object->take("spot")) {
    draft.spec.spot = read_boolean(scope, *spot).value_or(false);
  }
  object->done();
}

bool is_number_alone(const Item& item) {
  const YamlNode& node = *item.node;
  return node.is_scalar() && !node.text.empty() &&
         node.text.find_first_not_of("0123456789") == std::string::npos;
}

void refuse_number(Scope& scope, const Item& item) {
  scope.refuse(item, "`retry` is a mapping, and this is the number " + shown(*item.node),
               shown(*item.node), "write retry: {max: " + shown(*item.node) + "}");
}

void read_retry(Scope& scope, const Item& item, StepDraft& draft) {
  if (is_number_alone(item)) return refuse_number(scope, item);
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, retry_fields());
  if (!object) return;
  model::RetryPolicy& retry = draft.spec.retry;
  retry = {};
  const std::optional<Item> max = object->take("max");
  if (max) {
    const auto value = read_count(scope, *max, {0, model::kRetriesMax});
    retry.max = static_cast<std::int32_t>(value.value_or(0));
  } else {
    scope.refuse(item, "`max` is missing: without it nothing is tried again", "",
                 "write how many more attempts a task may have, such as max: 3");
  }
  if (const auto codes = object->take("on_exit_codes")) {
    for (const Item& code : texts_of(scope, *codes)) read_exit_code(scope, code, retry);
  }
  if (const auto events = object->take("on_events")) {
    for (const Item& event : texts_of(scope, *events)) read_event(event, retry);
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
  if (const auto dir = object->take("dir")) {
    checkpoint.dir = read_text(scope, *dir).value_or(checkpoint.dir);
  }
  if (const auto every = object->take("every")) {
    checkpoint.every =
        read_duration(scope, *every, model::kCheckpointEveryMin).value_or(Duration());
  }
  if (const auto code = object->take("exit_code")) {
    const auto value = read_integer(scope, *code, {1, model::kExitCodeMax});
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
  if (const auto item = object.take("volumes")) read_volumes(scope, *item, draft);
  read_limits(scope, object, draft.spec);
}

}  // namespace runnel::spec
