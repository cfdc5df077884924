#include "model/detail/check_tasks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "model/detail/checks.h"
#include "model/node.h"

namespace runnel::model::detail {
namespace {

template <typename T>
std::optional<T> parse_whole(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

Result<void> check_choice(const Parameter& parameter) {
  if (parameter.values.empty()) return invalid("values", "a choice needs at least one value");
  if (!parameter.low.empty()) return invalid("low", "a choice has no lower end");
  if (!parameter.high.empty()) return invalid("high", "a choice has no upper end");
  return check_each("values", parameter.values, [](const std::string& value) {
    return check_text("", value, kScriptBytesMax);
  });
}

Result<void> check_range(const Parameter& parameter) {
  const auto low = parse_whole<std::int64_t>(parameter.low);
  const auto high = parse_whole<std::int64_t>(parameter.high);
  if (!low) return invalid("low", "a range begins at an integer", parameter.low);
  if (!high) return invalid("high", "a range ends at an integer", parameter.high);
  if (*low <= *high) return {};
  return invalid("high", "a range must not end before it begins", parameter.high);
}

Result<void> check_interval(const Parameter& parameter) {
  const auto low = parse_whole<double>(parameter.low);
  const auto high = parse_whole<double>(parameter.high);
  if (!low || !std::isfinite(*low)) {
    return invalid("low", "this must be a finite number", parameter.low);
  }
  if (!high || !std::isfinite(*high)) {
    return invalid("high", "this must be a finite number", parameter.high);
  }
  if (!(*low < *high)) return invalid("high", "this must be above the lower end", parameter.high);
  if (parameter.kind == Parameter::Kind::kLogUniform && !(*low > 0)) {
    return invalid("low", "a loguniform interval begins above 0", parameter.low);
  }
  return {};
}

Result<void> check_parameter(const Parameter& parameter) {
  TRY(check_name("name", parameter.name));
  if (parameter.kind == Parameter::Kind::kChoice) return check_choice(parameter);
  if (!parameter.values.empty()) return invalid("values", "only a choice has values");
  return parameter.continuous() ? check_interval(parameter) : check_range(parameter);
}

// The number of values of a checked discrete parameter; more than the limit is the limit plus one.
std::int64_t value_count(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    return static_cast<std::int64_t>(parameter.values.size());
  }
  const auto first = parse_whole<std::int64_t>(parameter.low);
  const auto last = parse_whole<std::int64_t>(parameter.high);
  CHECK(first.has_value(), "a range that was checked has no lower end");
  CHECK(last.has_value(), "a range that was checked has no upper end");
  CHECK(*first <= *last, "a range that was checked is empty");
  const auto low = static_cast<std::uint64_t>(*first);
  const auto high = static_cast<std::uint64_t>(*last);
  const std::uint64_t steps = std::min<std::uint64_t>(high - low, kTasksPerStepMax);
  return static_cast<std::int64_t>(steps) + 1;
}

Result<std::int64_t> grid_tasks(const std::vector<Parameter>& params) {
  std::int64_t tasks = 1;
  for (const Parameter& parameter : params) {
    if (parameter.continuous()) {
      return invalid("samples",
                     "'" + parameter.name +
                         "' is continuous, so the number of samples "
                         "must be given",
                     parameter.name);
    }
    // Both factors are at most kTasksPerStepMax + 1, far from 64 bits.
    tasks *= value_count(parameter);
    CHECK(tasks > 0, "a checked parameter has no value");
    if (tasks > kTasksPerStepMax) {
      return invalid("params", "the full grid has more than " + std::to_string(kTasksPerStepMax) +
                                   " tasks; give samples");
    }
  }
  return tasks;
}

// What only a search understands.
Result<void> check_plain(const Parameter& parameter) {
  if (!parameter.step.empty()) return invalid("step", "only a search looks at steps");
  if (parameter.log) return invalid("log", "only a search looks at logarithms of integers");
  if (parameter.when) return invalid("when", "only a search looks at conditions");
  return {};
}

Result<void> check_scale(const Parameter& parameter) {
  if (parameter.log) {
    if (parameter.kind != Parameter::Kind::kRange) return invalid("log", "this is for a range");
    if (*parse_whole<std::int64_t>(parameter.low) < 1) {
      return invalid("low", "a logarithmic range begins at 1 or above", parameter.low);
    }
  }
  if (parameter.step.empty()) return {};
  if (parameter.kind != Parameter::Kind::kUniform) return invalid("step", "this is for uniform");
  const auto step = parse_whole<double>(parameter.step);
  const bool fits = step && std::isfinite(*step) && *step > 0;
  if (fits) return {};
  return invalid("step", "this must be a number above 0", parameter.step);
}

// A condition looks back, so that conditions make no circle.
Result<void> check_condition(const Parameter& parameter, const std::vector<Parameter>& params) {
  if (!parameter.when) return {};
  for (const Parameter& other : params) {
    if (&other == &parameter) break;
    if (other.name != parameter.when->parameter) continue;
    if (other.kind != Parameter::Kind::kChoice) {
      return invalid("when", "a parameter can hang on a choice only", other.name);
    }
    TRY(check_size("when", parameter.when->values.empty() ? 1 : 0, 0, "conditions without values"));
    return check_each(
        "when", parameter.when->values, [&](const std::string& value) -> Result<void> {
          const auto& values = other.values;
          if (std::find(values.begin(), values.end(), value) != values.end()) return {};
          return invalid("values", "the choice it hangs on does not have this value", value);
        });
  }
  return invalid("when", "no earlier parameter has this name", parameter.when->parameter);
}

Result<void> check_population(const PopulationSpec& population) {
  TRY(check_within("every", population.every, 1, kInteger64Max));
  TRY(check_within("max_step", population.max_step, 0, kInteger64Max));
  TRY(check_within("quantile_percent", population.quantile_percent, 1, 50));
  return check_within("resample_percent", population.resample_percent, 0, 100);
}

// Members go on from each other's checkpoints, and the population judges in place of a pruner.
Result<void> check_population(const StepSpec& step, const SearchSpec& search) {
  Result<void> checked = check_population(*search.population);
  if (!checked.ok()) return inside("population", std::move(checked).error());
  if (search.max_trials > kPopulationMax) {
    return invalid("max_trials", "a population has fewer members", std::to_string(kPopulationMax));
  }
  if (search.pruner) return invalid("pruner", "a population ends nobody early");
  if (!step.checkpoint) return invalid("population", "this needs `checkpoint`");
  return {};
}

Result<void> check_method(const StepSpec& step, const SearchSpec& search) {
  using Method = SearchSpec::Method;
  if (search.population.has_value() != (search.method == Method::kPbt)) {
    return invalid("population", "this belongs to the method pbt, and to no other");
  }
  if (search.population) TRY(check_population(step, search));
  const bool several = search.objectives.size() > 1;
  const bool knows_several = search.method == Method::kAuto || search.method == Method::kGrid ||
                             search.method == Method::kRandom || search.method == Method::kNsga2;
  if (several && !knows_several)
    return invalid("objectives", "this method knows one objective only");
  if (several && search.pruner) return invalid("pruner", "with one objective only");
  if (search.method != Method::kGrid) return {};
  const std::int64_t cells = TRY(grid_tasks(step.params));
  if (search.max_trials <= cells) return {};
  return invalid("max_trials", "the grid has fewer cells", std::to_string(cells));
}

Result<void> check_pruner(const PrunerSpec& pruner) {
  TRY(check_within("eta", pruner.eta, 2, 16));
  TRY(check_within("min_step", pruner.min_step, 1, kInteger64Max));
  TRY(check_within("every", pruner.every, 1, kInteger64Max));
  TRY(check_within("startup_trials", pruner.startup_trials, 1, kTasksPerStepMax));
  const bool bounded = pruner.kind == PrunerSpec::Kind::kHyperband;
  if (!bounded && pruner.max_step == 0) return {};
  return check_within("max_step", pruner.max_step, pruner.min_step, kInteger64Max);
}

Result<void> check_objectives(const SearchSpec& search) {
  if (search.objectives.empty()) return invalid("objectives", "a search needs an objective");
  TRY(check_size("objectives", search.objectives.size(), kObjectivesMax, "objectives"));
  Distinct<std::string> distinct;
  return check_each("objectives", search.objectives, [&](const Objective& each) -> Result<void> {
    TRY(check_name("metric", each.metric));
    return distinct("metric", each.metric, each.metric);
  });
}

Result<void> check_fields(const StepSpec& step, const SearchSpec& search) {
  TRY(check_objectives(search));
  TRY(check_within("max_trials", search.max_trials, 1, kTasksPerStepMax));
  TRY(check_within("max_duration", search.max_duration.millis(), 0, kInteger64Max));
  TRY(check_within("max_failures", search.max_failures.value_or(0), 0, kTasksPerStepMax));
  TRY(check_within("budget_micros", search.budget.micros(), 0, kPriceMax.micros()));
  TRY(check_size("start", search.start.size(), kStartPointsMax, "points"));
  TRY(check_size("from", search.from.size(), kEarlierTrialsMax, "trials"));
  TRY(check_each("from", search.from, [&](const EarlierTrial& trial) -> Result<void> {
    if (trial.values.size() == search.objectives.size()) return {};
    return invalid("values", "an earlier trial has a value for each objective",
                   std::to_string(trial.values.size()));
  }));
  TRY(check_method(step, search));
  if (!search.pruner) return {};
  Result<void> pruner = check_pruner(*search.pruner);
  return pruner.ok() ? pruner : inside("pruner", std::move(pruner).error());
}

Result<void> check_search(const StepSpec& step) {
  if (step.samples) return invalid("samples", "a search says max_trials instead");
  if (step.params.empty()) return invalid("params", "a search needs a parameter");
  TRY(check_each("params", step.params, [&](const Parameter& parameter) -> Result<void> {
    TRY(check_scale(parameter));
    return check_condition(parameter, step.params);
  }));
  Result<void> done = check_fields(step, *step.search);
  if (!done.ok()) return inside("search", std::move(done).error());
  if (step.task_count == step.search->max_trials) return {};
  return invalid("task_count", "a search has as many tasks as trials",
                 std::to_string(step.task_count));
}

}  // namespace

Result<void> check_tasks(const StepSpec& step) {
  TRY(check_size("params", step.params.size(), kParametersMax, "parameters"));
  Distinct<std::string> distinct;
  TRY(check_each("params", step.params, [&](const Parameter& parameter) -> Result<void> {
    TRY(check_parameter(parameter));
    return distinct("name", parameter.name, parameter.name);
  }));
  if (step.samples) TRY(check_within("samples", *step.samples, 1, kTasksPerStepMax));
  if (step.search) return check_search(step);
  TRY(check_each("params", step.params, check_plain));
  const std::int64_t tasks = step.samples ? *step.samples : TRY(grid_tasks(step.params));
  if (step.task_count == tasks) return {};
  return invalid("task_count", "the step has " + std::to_string(tasks) + " tasks",
                 std::to_string(step.task_count));
}

}  // namespace runnel::model::detail
