#include "spec/metrics.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/names.h"
#include "spec/check_job.h"
#include "spec/scalars.h"

namespace runnel::spec {
namespace {

using model::LogPattern;

// A pattern with the places that its faults are told at.
struct PatternDraft {
  LogPattern pattern;
  Item regex;
  std::optional<Item> step;
};

// At the part of the pattern that is at fault.
void refuse_pattern(Scope& scope, const Item& item, Error error) {
  const std::string part = error.value;
  error.with_value(shown(part));
  const bool whole = part.empty() || part == item.node->text;
  if (whole) return scope.refuse(item, std::move(error));
  scope.faults.report_inside(item, part, std::move(error));
}

void read_regex(Scope& scope, const Item& item, PatternDraft& draft) {
  draft.regex = item;
  const std::optional<std::string> text = read_verbatim(scope, item);
  if (!text) return;
  draft.pattern.regex = *text;
  if (!text->empty()) return;
  scope.refuse(item, "an empty pattern finds nothing", "", "write 'loss = %{FLOAT:loss}'");
}

std::optional<PatternDraft> read_pattern(Scope& scope, const Item& item, const std::string& group) {
  PatternDraft draft;
  draft.pattern.group = group;
  if (!item.node->is_map()) {
    read_regex(scope, item, draft);
    return draft;
  }
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, log_pattern_fields());
  if (!object) return std::nullopt;
  const std::optional<Item> regex = object->take("regex");
  if (regex) read_regex(scope, *regex, draft);
  if (!regex && item.node->find("regex") == nullptr) {
    scope.refuse(item, "`regex` is missing", "", "write regex: 'loss = %{FLOAT:loss}'");
  }
  if (const auto lines = object->take("lines")) {
    const auto value = read_integer(scope, *lines, {1, model::kLogPatternLinesMax});
    draft.pattern.lines = static_cast<std::int32_t>(value.value_or(1));
  }
  draft.step = object->take("step");
  if (draft.step) draft.pattern.step = read_text(scope, *draft.step).value_or("step");
  object->done();
  if (draft.pattern.regex.empty()) return std::nullopt;
  return draft;
}

void add_pattern(Scope& scope, const Item& item, const std::string& group,
                 std::vector<PatternDraft>& patterns) {
  if (auto draft = read_pattern(scope, item, group)) patterns.push_back(*std::move(draft));
}

void refuse_nothing(Scope& scope, const Item& item) {
  scope.refuse(item, "no pattern is given", "", "write 'loss = %{FLOAT:loss}'");
}

// One pattern, or a list of them.
void add_patterns(Scope& scope, const Item& item, const std::string& group,
                  std::vector<PatternDraft>& patterns) {
  if (!item.node->is_list()) return add_pattern(scope, item, group, patterns);
  if (item.node->items.empty()) refuse_nothing(scope, item);
  for (std::size_t i = 0; i < item.node->items.size(); ++i) {
    const Item at{item.node->items[i].get(), item.path_of(std::to_string(i))};
    add_pattern(scope, at, group, patterns);
  }
}

void add_groups(Scope& scope, const Item& item, std::vector<PatternDraft>& patterns) {
  for (const YamlMember& member : item.node->members) {
    const std::string& group = member.key->text;
    const Item value{member.value.get(), item.path_of(shown(group))};
    if (model::is_name(group)) {
      add_patterns(scope, value, group, patterns);
      continue;
    }
    const std::string better = model::as_name(group);
    scope.refuse(
        {member.key.get(), value.path},
        "'" + shown(group) + "' " + model::name_fault(group, "cannot be the name of a group"),
        shown(group),
        "use letters, digits, '-', '_' and '.'" + (better.empty() ? "" : ", such as " + better));
  }
}

void refuse_patterns(Scope& scope, const std::vector<PatternDraft>& drafts,
                     const std::vector<LogPattern>& patterns) {
  for (const PatternFault& fault : check_patterns(patterns)) {
    const PatternDraft& draft = drafts[fault.pattern];
    if (fault.field == PatternFault::Field::kRegex) {
      refuse_pattern(scope, draft.regex, fault.error);
    } else {
      CHECK(draft.step.has_value(), "a step that nobody wrote has the default's name");
      scope.refuse(*draft.step, fault.error);
    }
  }
}

void read_log(Scope& scope, const Item& item, model::MetricSources& sources) {
  std::vector<PatternDraft> patterns;
  // `regex` is a pattern's own field, so a mapping that has it is one pattern, without a group.
  const bool groups = item.node->is_map() && item.node->find("regex") == nullptr;
  groups ? add_groups(scope, item, patterns) : add_patterns(scope, item, "", patterns);
  if (item.node->is_map() && item.node->members.empty()) refuse_nothing(scope, item);
  for (const PatternDraft& draft : patterns) sources.log.push_back(draft.pattern);
  if (patterns.size() <= model::kLogPatternsMax) refuse_patterns(scope, patterns, sources.log);
}

void read_tensorboard(Scope& scope, const Item& item, model::MetricSources& sources) {
  sources.tensorboard = read_text(scope, item).value_or("");
}

}  // namespace

void read_metric_sources(Scope& scope, const Item& item, StepDraft& draft) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, metric_source_fields());
  if (!object) return;
  draft.spec.metrics = {};
  if (const auto log = object->take("log")) read_log(scope, *log, draft.spec.metrics);
  if (const auto folder = object->take("tensorboard")) {
    read_tensorboard(scope, *folder, draft.spec.metrics);
  }
  object->done();
}

}  // namespace runnel::spec
