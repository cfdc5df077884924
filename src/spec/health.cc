#include "spec/health.h"

#include <string>

#include "base/check.h"
#include "model/spec_words.h"
#include "spec/scalars.h"
#include "spec/word.h"

namespace runnel::spec {
namespace {

using model::HealthAction;

HealthAction read_action(Scope& scope, const Item& item) {
  return read_word<HealthAction>(scope, item, model::kHealthActionWords, "an action")
      .value_or(HealthAction::kWarn);
}

HealthAction take_action(Scope& scope, ObjectReader& object) {
  const std::optional<Item> action = object.take("action");
  return action ? read_action(scope, *action) : HealthAction::kWarn;
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
  hang.action = take_action(scope, *object);
  object->done();
}

// An action alone, or a mapping.
void read_nan(Scope& scope, const Item& item, StepDraft& draft) {
  model::NanPolicy& nan = draft.spec.health.nan.emplace();
  if (!item.node->is_map()) {
    nan.action = read_action(scope, item);
    return;
  }
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, nan_fields());
  if (!object) return;
  if (const auto metric = object->take("metric")) {
    nan.metric = read_text(scope, *metric).value_or("");
  }
  nan.action = take_action(scope, *object);
  object->done();
}

std::int64_t read_factor(Scope& scope, const Item& item, std::int64_t fallback) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return fallback;
  const std::optional<std::int64_t> permille = scaled_decimal(*text, 3);
  if (permille) return *permille;
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
    straggler.action = read_action(scope, item);
    return;
  }
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, straggler_fields());
  if (!object) return;
  if (const auto factor = object->take("factor")) {
    straggler.factor_permille = read_factor(scope, *factor, straggler.factor_permille);
  }
  straggler.action = take_action(scope, *object);
  object->done();
}

// Whether it is the default of all steps that stands here, and not the step's own.
bool is_inherited(const StepDraft& draft, const Item& item) {
  return !draft.item.path.empty() && !item.path.starts_with(draft.item.path);
}

}  // namespace

void read_health(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, health_fields());
  if (!object) return;
  draft.spec.health = {};
  draft.straggler.reset();
  if (const auto hang = object->take("hang")) read_hang(scope, *hang, draft);
  if (const auto nan = object->take("nan")) read_nan(scope, *nan, draft);
  if (const auto straggler = object->take("straggler")) read_straggler(scope, *straggler, draft);
  object->done();
}

void settle_health(std::vector<StepDraft>& drafts) {
  for (StepDraft& draft : drafts) {
    model::HealthPolicy& health = draft.spec.health;
    CHECK(!health.straggler || draft.straggler, "a policy that stands nowhere in the file");
    const bool one_rank = draft.spec.num_nodes == 1 && draft.spec.procs_per_node == 1;
    if (draft.spec.is_external()) {
      health = {};
    } else if (health.straggler && one_rank && is_inherited(draft, *draft.straggler)) {
      health.straggler.reset();
    }
  }
}

}  // namespace runnel::spec
