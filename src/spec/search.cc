#include "spec/search.h"

#include <algorithm>
#include <limits>

#include "model/parameters.h"
#include "model/spec_words.h"
#include "spec/parameters.h"
#include "spec/scalars.h"
#include "spec/word.h"

namespace runnel::spec {
namespace {

using model::PrunerSpec;
using model::SearchSpec;
using Method = SearchSpec::Method;

constexpr std::int64_t kStepMax = std::numeric_limits<std::int64_t>::max();

std::optional<bool> read_mode(Scope& scope, const Item& item) {
  return read_word<bool>(scope, item, model::kModeWords, "a mode");
}

void read_objectives(Scope& scope, const Item& item, SearchSpec& search) {
  if (!item.node->is_map() || item.node->members.empty() ||
      item.node->members.size() > model::kObjectivesMax) {
    scope.refuse(item,
                 "`objectives` is a mapping of 1 to " + std::to_string(model::kObjectivesMax) +
                     " metrics to min or max",
                 shown(*item.node), "write {accuracy: max, seconds: min}");
    return;
  }
  for (const YamlMember& member : item.node->members) {
    const Item at{member.value.get(), item.path_of(shown(member.key->text))};
    const std::optional<bool> maximize = read_mode(scope, at);
    search.objectives.push_back({member.key->text, maximize.value_or(false)});
  }
}

// `metric` with `mode`, or `objectives`.
void read_goal(Scope& scope, ObjectReader& object, SearchSpec& search) {
  const std::optional<Item> metric = object.take("metric");
  const std::optional<Item> mode = object.take("mode");
  const std::optional<Item> objectives = object.take("objectives");
  if (objectives) {
    read_objectives(scope, *objectives, search);
    if (metric) {
      scope.refuse(*metric, "`metric` and `objectives` are both given", shown(*metric->node),
                   "keep one of them");
    }
    return;
  }
  if (!metric || !mode) {
    scope.refuse(object.item(), metric ? "`mode` is missing" : "`metric` is missing", "",
                 metric ? "say `mode: min` or `mode: max`"
                        : "say what trials report and whether more is better: metric: accuracy, "
                          "mode: max");
    return;
  }
  const std::optional<std::string> name = read_text(scope, *metric);
  const std::optional<bool> maximize = read_mode(scope, *mode);
  if (name) search.objectives.push_back({*name, maximize.value_or(false)});
}

// Sets the number where the field is given.
template <typename Number>
void take_natural(Scope& scope, ObjectReader& object, std::string_view name, Number& number,
                  Limits limits) {
  const std::optional<Item> item = object.take(name);
  if (!item) return;
  number = static_cast<Number>(read_integer(scope, *item, limits).value_or(number));
}

void read_pruner_fields(Scope& scope, ObjectReader& object, PrunerSpec& pruner) {
  if (const auto method = object.take("method")) {
    pruner.kind = read_word<PrunerSpec::Kind>(scope, *method, model::kPrunerKindWords, "a pruner")
                      .value_or(pruner.kind);
  }
  take_natural(scope, object, "min_step", pruner.min_step, {1, kStepMax});
  take_natural(scope, object, "max_step", pruner.max_step, {1, kStepMax});
  take_natural(scope, object, "eta", pruner.eta, model::kEtaLimits);
  take_natural(scope, object, "every", pruner.every, {1, kStepMax});
  take_natural(scope, object, "startup_trials", pruner.startup_trials,
               {1, model::kTasksPerStepMax});
}

void read_pruner(Scope& scope, const Item& item, SearchSpec& search) {
  PrunerSpec pruner;
  if (item.node->is_map()) {
    std::optional<ObjectReader> object = ObjectReader::open(scope, item, pruner_fields());
    if (!object) return;
    read_pruner_fields(scope, *object, pruner);
    object->done();
  } else {
    pruner.kind = read_word<PrunerSpec::Kind>(scope, item, model::kPrunerKindWords, "a pruner")
                      .value_or(pruner.kind);
  }
  search.pruner = pruner;
}

void read_population_fields(Scope& scope, ObjectReader& object, model::PopulationSpec& population) {
  take_natural(scope, object, "every", population.every, {1, kStepMax});
  take_natural(scope, object, "max_step", population.max_step, {1, kStepMax});
  take_natural(scope, object, "quantile_percent", population.quantile_percent,
               model::kQuantileLimits);
  take_natural(scope, object, "resample_percent", population.resample_percent,
               model::kResampleLimits);
}

void read_population(Scope& scope, ObjectReader& object, SearchSpec& search) {
  if (search.method == Method::kPbt) search.population.emplace();
  const std::optional<Item> item = object.take("population");
  if (!item) return;
  model::PopulationSpec& population = search.population.emplace();
  std::optional<ObjectReader> fields = ObjectReader::open(scope, *item, population_fields());
  if (!fields) return;
  read_population_fields(scope, *fields, population);
  fields->done();
}

void read_start(Scope& scope, const Item& item, SearchSpec& search) {
  if (!item.node->is_list() || item.node->items.size() > model::kStartPointsMax) {
    scope.refuse(item,
                 "`start` is a list of at most " + std::to_string(model::kStartPointsMax) +
                     " mappings of parameters to values",
                 shown(*item.node), "write [{lr: 0.01}]");
    return;
  }
  for (std::size_t i = 0; i < item.node->items.size(); ++i) {
    const Item at{item.node->items[i].get(), item.path_of(std::to_string(i))};
    if (auto point = read_point(scope, at)) search.start.push_back(*point);
  }
}

// The values of an earlier trial in the order of the objectives.
std::vector<std::string> read_results(Scope& scope, const Item& item, const SearchSpec& search) {
  std::vector<std::string> values;
  for (const model::Objective& objective : search.objectives) {
    const YamlNode* found = item.node->is_map() ? item.node->find(objective.metric) : nullptr;
    const Item at{found, item.path_of(objective.metric)};
    const std::optional<std::string> value = found == nullptr ? std::nullopt : read_text(scope, at);
    if (found == nullptr) {
      scope.refuse(item, "`values` lacks the metric '" + objective.metric + "'", shown(*item.node),
                   "write values: {" + objective.metric + ": 0.3}");
      return {};
    }
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

// Trials of an earlier study may be of other parameters, and are passed over then; those that
// somebody wrote down are meant.
std::optional<std::vector<std::pair<std::string, std::string>>> read_earlier_point(
    Scope& scope, const Item& item, const std::vector<model::Parameter>& params) {
  auto point = read_point(scope, item);
  if (!point) return std::nullopt;
  for (const auto& [name, value] : *point) {
    const std::optional<Error> fault = model::point_fault(params, name, value);
    if (!fault) continue;
    scope.refuse({item.node->find(name), item.path_of(shown(name))}, *fault);
    return std::nullopt;
  }
  return point;
}

std::optional<model::EarlierTrial> read_earlier(Scope& scope, const Item& item,
                                                const StepDraft& draft, const SearchSpec& search) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, earlier_fields());
  if (!object) return std::nullopt;
  const std::optional<Item> params = object->take("params");
  const std::optional<Item> values = object->take("values");
  object->done();
  if (!params || !values) {
    scope.refuse(item, "an earlier trial has `params` and `values`", "",
                 "write {params: {lr: 0.1}, values: {loss: 0.3}}");
    return std::nullopt;
  }
  auto point = read_earlier_point(scope, *params, draft.spec.params);
  std::vector<std::string> results = read_results(scope, *values, search);
  if (!point || results.empty()) return std::nullopt;
  return model::EarlierTrial{*std::move(point), std::move(results)};
}

void read_from(Scope& scope, const Item& item, const StepDraft& draft, SearchSpec& search) {
  if (!item.node->is_list() || item.node->items.size() > model::kEarlierTrialsMax) {
    scope.refuse(
        item, "`from` is a list of at most " + std::to_string(model::kEarlierTrialsMax) + " trials",
        shown(*item.node),
        "write [{params: {lr: 0.1}, values: {loss: 0.3}}], or use "
        "--from ID");
    return;
  }
  for (std::size_t i = 0; i < item.node->items.size(); ++i) {
    const Item at{item.node->items[i].get(), item.path_of(std::to_string(i))};
    if (auto trial = read_earlier(scope, at, draft, search)) search.from.push_back(*trial);
  }
}

void read_method(Scope& scope, ObjectReader& object, SearchSpec& search) {
  const std::optional<Item> method = object.take("method");
  if (!method) return;
  search.method = read_word<Method>(scope, *method, model::kSearchMethodWords, "a method of search")
                      .value_or(Method::kAuto);
}

// The points of a space without intervals.
std::optional<std::int64_t> points_of(const std::vector<model::Parameter>& params) {
  const bool real = std::any_of(params.begin(), params.end(),
                                [](const auto& parameter) { return parameter.continuous(); });
  return real ? std::nullopt : model::grid_cells(params);
}

// A grid knows by itself how many trials it has, and is what a search comes to that may try more
// points than there are (docs/search/auto.md).
void read_trials(Scope& scope, ObjectReader& object, const StepDraft& draft, SearchSpec& search) {
  const std::optional<Item> item = object.take("max_trials");
  if (item) search.max_trials = read_count(scope, *item, {1, model::kTasksPerStepMax}).value_or(1);
  const std::optional<std::int64_t> cells = points_of(draft.spec.params);
  if (search.method != Method::kGrid) {
    const bool whole = search.method == Method::kAuto && search.objectives.size() <= 1 && cells;
    if (whole) search.max_trials = std::min(search.max_trials, *cells);
    if (item) return;
    scope.refuse(object.item(), "`max_trials` is missing", "",
                 "say how many parameter sets may be tried, such as max_trials: 50");
    search.max_trials = 1;
    return;
  }
  search.max_trials = item ? std::min(search.max_trials, cells.value_or(1)) : cells.value_or(1);
}

void read_fields(Scope& scope, ObjectReader& object, StepDraft& draft, SearchSpec& search) {
  read_goal(scope, object, search);
  read_method(scope, object, search);
  read_trials(scope, object, draft, search);
  if (const auto limit = object.take("max_duration")) {
    search.max_duration = read_duration(scope, *limit, Duration::millis(1)).value_or(Duration());
  }
  if (const auto failures = object.take("max_failures")) {
    search.max_failures = read_count(scope, *failures, {0, model::kTasksPerStepMax});
  }
  if (const auto budget = object.take("budget")) {
    const auto amount = read_money(scope, *budget, "dollars");
    search.budget = amount.value_or(Money());
    if (amount == Money()) {
      scope.refuse(*budget, "a search without money asks for nothing", "0",
                   "write dollars, such as 2.5, or leave `budget` out");
    }
  }
  if (const auto parallel = object.take("parallel")) {
    draft.spec.parallel = read_count(scope, *parallel, {1, model::kTasksPerStepMax});
  }
  if (const auto pruner = object.take("pruner")) read_pruner(scope, *pruner, search);
  read_population(scope, object, search);
  if (const auto start = object.take("start")) read_start(scope, *start, search);
  if (const auto from = object.take("from")) read_from(scope, *from, draft, search);
}

}  // namespace

void read_search(Scope& scope, const Item& item, StepDraft& draft) {
  SearchSpec& search = draft.spec.search.emplace();
  search.max_trials = 1;
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, search_fields());
  if (!object) return;
  read_fields(scope, *object, draft, search);
  object->done();
}

}  // namespace runnel::spec
