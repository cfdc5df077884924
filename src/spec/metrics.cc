#include "spec/metrics.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "extract/pattern.h"
#include "spec/names.h"
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

void check_regex(Scope& scope, const Item& item, const std::string& text) {
  if (text.empty()) {
    scope.refuse(item, "an empty pattern finds nothing", "", "write 'loss = %{FLOAT:loss}'");
  }
  if (text.size() <= model::kLogPatternBytesMax) return;
  scope.refuse(item, "the pattern has " + std::to_string(text.size()) + " bytes", shown(text),
               "use at most " + std::to_string(model::kLogPatternBytesMax));
}

void read_regex(Scope& scope, const Item& item, PatternDraft& draft) {
  draft.regex = item;
  const std::optional<std::string> text = read_verbatim(scope, item);
  if (!text) return;
  draft.pattern.regex = *text;
  check_regex(scope, item, *text);
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
    if (is_name(group)) {
      add_patterns(scope, value, group, patterns);
      continue;
    }
    const std::string better = as_name(group);
    scope.refuse(
        {member.key.get(), value.path},
        "'" + shown(group) + "' " + name_fault(group, "cannot be the name of a group"),
        shown(group),
        "use letters, digits, '-', '_' and '.'" + (better.empty() ? "" : ", such as " + better));
  }
}

// A step that no pattern catches would never be seen.
void check_step_field(Scope& scope, const PatternDraft& draft,
                      const std::vector<extract::Pattern>& compiled,
                      const std::vector<PatternDraft>& patterns) {
  if (!draft.step) return;
  const std::string& step = draft.pattern.step;
  const auto catches = [&](const extract::Pattern& each) { return each.has_field(step); };
  if (compiled.size() < patterns.size() || std::any_of(compiled.begin(), compiled.end(), catches)) {
    return;
  }
  scope.refuse(*draft.step, "no pattern has the field '" + shown(step) + "'", shown(step),
               "catch it where it is printed: %{INT:" + shown(step) + "}");
}

void check_patterns(Scope& scope, const std::vector<PatternDraft>& patterns) {
  std::vector<extract::Pattern> compiled;
  for (const PatternDraft& draft : patterns) {
    Result<extract::Pattern> pattern = extract::Pattern::create(draft.pattern);
    if (pattern.ok()) {
      compiled.push_back(*std::move(pattern));
    } else {
      refuse_pattern(scope, draft.regex, pattern.error());
    }
  }
  for (const PatternDraft& draft : patterns) check_step_field(scope, draft, compiled, patterns);
}

void read_log(Scope& scope, const Item& item, model::MetricSources& sources) {
  std::vector<PatternDraft> patterns;
  // `regex` is a pattern's own field, so a mapping that has it is one pattern, without a group.
  const bool groups = item.node->is_map() && item.node->find("regex") == nullptr;
  groups ? add_groups(scope, item, patterns) : add_patterns(scope, item, "", patterns);
  if (item.node->is_map() && item.node->members.empty()) refuse_nothing(scope, item);
  if (patterns.size() > model::kLogPatternsMax) {
    scope.refuse(item, std::to_string(patterns.size()) + " patterns",
                 std::to_string(patterns.size()),
                 "use at most " + std::to_string(model::kLogPatternsMax));
    return;
  }
  check_patterns(scope, patterns);
  for (PatternDraft& draft : patterns) sources.log.push_back(std::move(draft.pattern));
}

void read_tensorboard(Scope& scope, const Item& item, model::MetricSources& sources) {
  const std::optional<std::string> folder = read_text(scope, item);
  if (!folder) return;
  if (model::stays_inside(*folder) && !folder->starts_with('~')) {
    sources.tensorboard = *folder;
    return;
  }
  scope.refuse(item, "'" + shown(*folder) + "' leaves the task's folder", shown(*folder),
               "write a relative path without .., such as tb, and let the program write to "
               "$RUNNEL_TASK_DIR/tb");
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
