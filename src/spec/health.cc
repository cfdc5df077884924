#include "spec/health.h"

#include <array>
#include <string>

#include "base/check.h"
#include "spec/scalars.h"
#include "spec/word.h"

namespace runnel::spec {
namespace {

using model::HealthAction;

constexpr std::array<Word<HealthAction>, 3> kActions = {{{"warn", HealthAction::kWarn},
                                                         {"restart", HealthAction::kRestart},
                                                         {"kill", HealthAction::kKill}}};

HealthAction read_action(Scope& scope, const Item& item, StepDraft& draft) {
  const auto action = read_word(scope, item, kActions, "an action").value_or(HealthAction::kWarn);
  if (action == HealthAction::kRestart) draft.restarts.push_back(item);
  return action;
}

HealthAction take_action(Scope& scope, ObjectReader& object, StepDraft& draft) {
  const std::optional<Item> action = object.take("action");
  return action ? read_action(scope, *action, draft) : HealthAction::kWarn;
}

void read_hang(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, hang_fields());
  if (!object) return;
  model::HangPolicy& hang = draft.spec.health.hang.emplace();
  hang.after = model::kSilenceMin;
  if (const auto after = object->take("after")) {
    hang.after = read_duration(scope, *after, model::kSilenceMin).value_or(hang.after);
  } else if (item.node->find("after") == nullptr) {
    scope.refuse(item, "`after` is missing: how long a healthy rank may be silent", "",
                 "write more than its longest step takes, such as after: 10m");
  }
  hang.action = take_action(scope, *object, draft);
  object->done();
}

// An action alone, or a mapping.
void read_nan(Scope& scope, const Item& item, StepDraft& draft) {
  model::NanPolicy& nan = draft.spec.health.nan.emplace();
  if (!item.node->is_map()) {
    nan.action = read_action(scope, item, draft);
    return;
  }
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, nan_fields());
  if (!object) return;
  if (const auto metric = object->take("metric")) {
    nan.metric = read_text(scope, *metric).value_or("");
    if (nan.metric.size() > model::kMetricNameMax) {
      scope.refuse(*metric,
                   "the name has " + std::to_string(nan.metric.size()) + " bytes, more than " +
                       std::to_string(model::kMetricNameMax),
                   shown(nan.metric), "report the metric under a shorter name");
    }
  }
  nan.action = take_action(scope, *object, draft);
  object->done();
}

std::int64_t read_factor(Scope& scope, const Item& item, std::int64_t fallback) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return fallback;
  const std::optional<std::int64_t> permille = scaled_decimal(*text, 3);
  if (permille && *permille >= model::kFactorPermilleMin && *permille <= model::kFactorPermilleMax)
    return *permille;
  scope.refuse(item,
               "'" + shown(*text) + "' is not a factor above 1 and up to " +
                   std::to_string(model::kFactorPermilleMax / 1'000),
               shown(*text), "write how many times slower than the others is too slow, such as 3");
  return fallback;
}

void read_straggler(Scope& scope, const Item& item, StepDraft& draft) {
  draft.straggler = item;
  model::StragglerPolicy& straggler = draft.spec.health.straggler.emplace();
  if (!item.node->is_map()) {
    straggler.action = read_action(scope, item, draft);
    return;
  }
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, straggler_fields());
  if (!object) return;
  if (const auto factor = object->take("factor")) {
    straggler.factor_permille = read_factor(scope, *factor, straggler.factor_permille);
  }
  straggler.action = take_action(scope, *object, draft);
  object->done();
}

// Whether it is the default of all steps that stands here, and not the step's own.
bool is_inherited(const StepDraft& draft, const Item& item) {
  return !draft.item.path.empty() && !item.path.starts_with(draft.item.path);
}

void settle_straggler(const Scope& scope, StepDraft& draft) {
  model::HealthPolicy& health = draft.spec.health;
  CHECK(!health.straggler || draft.straggler, "a policy that stands nowhere in the file");
  if (!health.straggler || draft.spec.rank_count() > 1) return;
  health.straggler.reset();
  const std::string& path = draft.straggler->path;
  std::erase_if(draft.restarts, [&](const Item& item) { return item.path.starts_with(path); });
  if (is_inherited(draft, *draft.straggler)) return;
  scope.refuse(*draft.straggler, "the step has one rank, which cannot be slower than the others",
               "1", "remove `straggler`, or give the step several: num_nodes, procs_per_node");
}

void refuse_unpaid(const Scope& scope, const StepDraft& draft) {
  const bool inherited = is_inherited(draft, draft.restarts.front());
  scope.refuse(draft.restarts.front(),
               "a restart costs one of `retry.max`, which is 0" +
                   (inherited ? " in step '" + draft.spec.name + "'" : ""),
               "restart", "add retry: {max: 3}, or write kill or warn");
}

}  // namespace

void read_health(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, health_fields());
  if (!object) return;
  draft.spec.health = {};
  draft.straggler.reset();
  draft.restarts.clear();
  if (const auto hang = object->take("hang")) read_hang(scope, *hang, draft);
  if (const auto nan = object->take("nan")) read_nan(scope, *nan, draft);
  if (const auto straggler = object->take("straggler")) read_straggler(scope, *straggler, draft);
  object->done();
}

void settle_health(const Scope& scope, std::vector<StepDraft>& drafts) {
  for (StepDraft& draft : drafts) {
    if (draft.spec.outside()) {  // What the job gives its other steps.
      draft.spec.health = {};
      continue;
    }
    settle_straggler(scope, draft);
    if (!draft.restarts.empty() && draft.spec.retry.max == 0) refuse_unpaid(scope, draft);
  }
}

}  // namespace runnel::spec
