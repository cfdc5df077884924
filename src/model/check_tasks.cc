#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/shown.h"
#include "model/detail/checks.h"
#include "model/detail/numbers.h"
#include "model/names.h"
#include "model/node.h"
#include "model/parameters.h"

namespace runnel::model::detail {
namespace {

void check_choice(const Site& at, const Parameter& parameter) {
  if (parameter.values.empty()) {
    at.at("values").refuse("a choice needs at least one value", "", "write one, such as [0.1]");
  }
  if (!parameter.low.empty()) {
    at.at("low").refuse("a choice has no lower end", parameter.low, "leave it out");
  }
  if (!parameter.high.empty()) {
    at.at("high").refuse("a choice has no upper end", parameter.high, "leave it out");
  }
  for (std::size_t i = 0; i < parameter.values.size() && !at.full(); ++i) {
    at.at("values").at(i).text(parameter.values[i], kScriptBytesMax);
  }
}

bool is_end_of_range(const Site& at, std::optional<std::int64_t> value) {
  return value && (!at.submitted() || (-kRangeEndMax <= *value && *value <= kRangeEndMax));
}

void check_range(const Site& at, const Parameter& parameter) {
  const auto low = whole<std::int64_t>(parameter.low);
  const auto high = whole<std::int64_t>(parameter.high);
  const auto refuse = [&](std::string_view field, const std::string& text) {
    at.at(field).refuse(
        "'" + shown(text) + "' is not a whole number", text,
        "write {range: [0, 99]} for whole numbers, {uniform: [low, high]} for real ones");
  };
  if (!is_end_of_range(at, low)) return refuse("low", parameter.low);
  if (!is_end_of_range(at, high)) return refuse("high", parameter.high);
  if (*low <= *high) return;
  at.at("high").refuse("the range begins at " + parameter.low + ", above its end " + parameter.high,
                       parameter.high, "write the smaller number first");
}

void check_interval(const Site& at, const Parameter& parameter) {
  const auto low = whole<double>(parameter.low);
  const auto high = whole<double>(parameter.high);
  const auto refuse = [&](std::string_view field, const std::string& text) {
    at.at(field).refuse("'" + shown(text) + "' is not a number", text,
                        "write two numbers, such as [1e-4, 0.1]");
  };
  if (!low || !std::isfinite(*low)) return refuse("low", parameter.low);
  if (!high || !std::isfinite(*high)) return refuse("high", parameter.high);
  if (!(*low < *high)) {
    at.at("high").refuse("low is " + shown(parameter.low) + " and high is " + shown(parameter.high),
                         parameter.high,
                         "write the smaller number first; a fixed value needs no range");
  }
  if (parameter.kind == Parameter::Kind::kLogUniform && !(*low > 0)) {
    at.at("low").refuse("a logarithm needs numbers above 0, and low is " + shown(parameter.low),
                        parameter.low, "write a low above 0, or use `uniform`");
  }
}

void check_values(const Site& at, const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kChoice) return check_choice(at, parameter);
  if (!parameter.values.empty()) {
    at.at("values").refuse("only a choice has values", "", "leave them out");
  }
  parameter.continuous() ? check_interval(at, parameter) : check_range(at, parameter);
}

void check_name(const Site& at, const Parameter& parameter) {
  if (!at.submitted()) return void(at.named(parameter.name));
  if (is_identifier(parameter.name)) return;
  at.refuse("'" + shown(parameter.name) + "' cannot be the name of a parameter", parameter.name,
            "use letters, digits and _, beginning with a letter");
}

// Refuses what only a search understands.
void check_plain(const Site& at, const Parameter& parameter) {
  if (!parameter.log && parameter.step.empty() && !parameter.when) return;
  at.refuse("only a search understands `log`, `step` and `when`", parameter.name,
            "add `search`, or use range, uniform, loguniform or choice alone");
}

void check_scale(const Site& at, const Parameter& parameter) {
  const auto low = whole<std::int64_t>(parameter.low);
  if (parameter.log && parameter.kind != Parameter::Kind::kRange) {
    at.at("log").refuse("`log` belongs to `range`", "true", "use `loguniform` for real numbers");
  } else if (parameter.log && low && *low < 1) {
    at.at("log").refuse("a logarithm needs numbers above 0, and low is " + parameter.low,
                        parameter.low, "begin at 1 or above, or leave `log` out");
  }
  if (parameter.step.empty()) return;
  const auto step = whole<double>(parameter.step);
  const bool sound = step && std::isfinite(*step) && *step > 0;
  if (sound && parameter.kind == Parameter::Kind::kUniform) return;
  at.at("step").refuse("`step` is a number above 0 and belongs to `uniform`", parameter.step,
                       "write {uniform: [0, 1], step: 0.1}");
}

// A condition looks back, so that conditions make no cycle.
void check_condition(const Site& at, const Parameter& parameter,
                     const std::vector<Parameter>& params) {
  if (!parameter.when) return;
  const Site when = at.at("when");
  const std::string& wanted = parameter.when->parameter;
  const auto end =
      std::ranges::find_if(params, [&](const auto& each) { return &each == &parameter; });
  const auto choice = std::find_if(params.begin(), end, [&](const Parameter& each) {
    return each.name == wanted && each.kind == Parameter::Kind::kChoice;
  });
  if (choice == end) {
    return when.refuse("`when` names '" + shown(wanted) + "', which is no choice above this one",
                       wanted, "name a choice that stands earlier in `params`");
  }
  if (parameter.when->values.empty()) {
    when.refuse("`when` names no value of '" + shown(wanted) + "'", "", "write at least one");
  }
  for (const std::string& value : parameter.when->values) {
    if (is_possible(*choice, value)) continue;
    return when.refuse("'" + shown(value) + "' is no value of '" + shown(wanted) + "'", value,
                       "its values are " + listed({choice->values.begin(), choice->values.end()}));
  }
}

void check_parameters(const Site& at, const StepSpec& step) {
  Seen<std::string> names;
  for (std::size_t i = 0; i < step.params.size() && !at.full(); ++i) {
    const Parameter& parameter = step.params[i];
    const Site here = is_identifier(parameter.name) ? at.at(parameter.name) : at.at(i);
    check_name(here.at("name"), parameter);
    check_values(here, parameter);
    if (step.search) {
      check_scale(here, parameter);
      check_condition(here, parameter, step.params);
    } else {
      check_plain(here, parameter);
    }
    if (!names.again(parameter.name)) continue;
    here.at("name").refuse("there are two parameters '" + shown(parameter.name) + "'",
                           parameter.name, "rename one of them");
  }
}

bool has_reals(const StepSpec& step) {
  return std::ranges::any_of(step.params, [](const auto& each) { return each.continuous(); });
}

void check_population(const Site& at, const PopulationSpec& population) {
  at.at("every").within(population.every, 1, kInteger64Max);
  at.at("max_step").within(population.max_step, 0, kInteger64Max);
  at.at("quantile_percent")
      .within(population.quantile_percent, kQuantileLimits.low, kQuantileLimits.high);
  at.at("resample_percent")
      .within(population.resample_percent, kResampleLimits.low, kResampleLimits.high);
}

// Members go on from each other's checkpoints, and the population judges in place of a pruner.
void check_members(const Site& at, const StepSpec& step, const SearchSpec& search) {
  check_population(at.at("population"), *search.population);
  if (search.max_trials > kPopulationMax || (at.submitted() && search.max_trials < 2)) {
    at.at("max_trials")
        .refuse("a population has 2 to " + std::to_string(kPopulationMax) + " members",
                search.max_trials, "say how many in `max_trials`, such as max_trials: 8");
  }
  if (search.pruner) {
    at.at("pruner").refuse("a population ends nobody early: the worst go on from the best", "",
                           "remove `pruner`, or use another method");
  }
  if (step.checkpoint) return;
  at.at("population")
      .refuse(
          "members of a population go on from each other's checkpoints, and the step keeps none",
          "", "write checkpoint: {dir: ckpt}, and save there before each report");
}

bool knows_several(SearchSpec::Method method) {
  using Method = SearchSpec::Method;
  return method == Method::kAuto || method == Method::kGrid || method == Method::kRandom ||
         method == Method::kNsga2;
}

void check_several(const Site& at, const SearchSpec& search) {
  if (search.objectives.size() < 2) return;
  if (!knows_several(search.method)) {
    at.at("method").refuse("this method looks for one objective only", "",
                           "use `nsga2`, `random`, `grid` or `auto`, or keep one objective");
  }
  if (!search.pruner) return;
  at.at("pruner").refuse("trials can be stopped early by one objective only", "",
                         "remove `pruner`, or keep one objective");
}

void check_whole_grid(const Site& at, const StepSpec& step, const SearchSpec& search) {
  const std::optional<std::int64_t> cells = grid_cells(step.params);
  if (has_reals(step) || !cells || *cells > kTasksPerStepMax) {
    return at.refuse("a grid is tried whole, and this one is too large to be", "",
                     "use `choice` or `range` for all parameters, or another method");
  }
  if (search.max_trials <= *cells) return;
  at.at("max_trials")
      .refuse("the grid has " + std::to_string(*cells) + " cells, and no more trials",
              search.max_trials, "write " + std::to_string(*cells) + " or less");
}

void check_method(const Site& at, const StepSpec& step, const SearchSpec& search) {
  if (search.population.has_value() != (search.method == SearchSpec::Method::kPbt)) {
    at.at("population")
        .refuse("`population` belongs to the method `pbt`", "",
                "write method: pbt, or remove `population`");
  } else if (search.population) {
    check_members(at, step, search);
  }
  check_several(at, search);
  if (search.method == SearchSpec::Method::kGrid) check_whole_grid(at, step, search);
}

void check_pruner(const Site& at, const PrunerSpec& pruner) {
  at.at("eta").within(pruner.eta, kEtaLimits.low, kEtaLimits.high);
  const bool first = at.at("min_step").within(pruner.min_step, 1, kInteger64Max);
  at.at("every").within(pruner.every, 1, kInteger64Max);
  at.at("startup_trials").within(pruner.startup_trials, 1, kTasksPerStepMax);
  if (pruner.max_step != 0) {
    at.at("max_step").within(pruner.max_step, first ? pruner.min_step : 1, kInteger64Max);
  } else if (pruner.kind == PrunerSpec::Kind::kHyperband) {
    at.at("max_step")
        .refuse("`hyperband` shares its budget out by `max_step`, which is missing", "",
                "write {method: hyperband, max_step: 27}, the last step of a whole "
                "trial");
  }
}

void check_objectives(const Site& at, const SearchSpec& search) {
  if (search.objectives.empty()) {
    at.refuse("a search needs an objective", "",
              "say what trials report and whether more is better: metric: accuracy, mode: max");
  }
  if (!at.sized(search.objectives.size(), kObjectivesMax, "objectives")) return;
  Seen<std::string> metrics;
  for (std::size_t i = 0; i < search.objectives.size(); ++i) {
    const std::string& metric = search.objectives[i].metric;
    at.at(i).at("metric").named(metric);
    if (!metrics.again(metric)) continue;
    at.at(i).at("metric").refuse("there are two objectives '" + shown(metric) + "'", metric,
                                 "keep one of the two");
  }
}

using Point = std::vector<std::pair<std::string, std::string>>;

void check_point(const Site& at, const StepSpec& step, const Point& point) {
  for (const auto& [name, value] : point) {
    if (const auto fault = point_fault(step.params, name, value)) at.at(name).refuse(*fault);
  }
}

void check_earlier(const Site& at, const StepSpec& step, const SearchSpec& search) {
  if (at.at("start").sized(search.start.size(), kStartPointsMax, "points") && at.submitted()) {
    for (std::size_t i = 0; i < search.start.size() && !at.full(); ++i) {
      check_point(at.at("start").at(i), step, search.start[i]);
    }
  }
  if (!at.at("from").sized(search.from.size(), kEarlierTrialsMax, "trials")) return;
  for (std::size_t i = 0; i < search.from.size() && !at.full(); ++i) {
    const std::size_t values = search.from[i].values.size();
    if (values == search.objectives.size()) continue;
    at.at("from").at(i).at("values").refuse("an earlier trial has a value for each objective",
                                            std::to_string(values),
                                            "write values: {loss: 0.3}, with each metric");
  }
}

void check_search(const Site& at, const StepSpec& step) {
  const SearchSpec& search = *step.search;
  check_objectives(at.at("objectives"), search);
  at.at("max_trials").within(search.max_trials, 1, kTasksPerStepMax);
  at.at("max_duration")
      .within(search.max_duration, Duration(),
              at.submitted() ? kDurationMax : Duration::millis(kInteger64Max));
  at.at("max_failures").within(search.max_failures.value_or(0), 0, kTasksPerStepMax);
  at.at("budget_micros").within(search.budget.micros(), 0, kPriceMax.micros());
  check_earlier(at, step, search);
  check_method(at, step, search);
  if (search.pruner) check_pruner(at.at("pruner"), *search.pruner);
}

void check_searched(const Site& at, const StepSpec& step) {
  if (step.samples) {
    at.at("samples").refuse("`samples` and `search` are both given", *step.samples,
                            "keep `search`, which says max_trials");
  }
  if (step.params.empty()) {
    at.at("params").refuse("a search needs parameters, and `params` is missing", "",
                           "write params: {lr: {loguniform: [1e-4, 0.1]}}");
  }
  check_search(at.at("search"), step);
}

void check_grid(const Site& at, const StepSpec& step) {
  const std::optional<std::int64_t> cells = grid_cells(step.params);
  if (step.samples) {
    at.at("samples").within(*step.samples, 1, kTasksPerStepMax);
    if (cells || !at.submitted()) return;
    return at.at("params").refuse("the grid has more than 2^62 cells", "", "use smaller ranges");
  }
  for (const Parameter& parameter : step.params) {
    if (!parameter.continuous()) continue;
    return at.at("params").refuse(
        "`" + shown(parameter.name) + "` has infinitely many values, and `samples` is missing",
        parameter.name, "add samples: N to draw N of them");
  }
  if (cells && *cells <= kTasksPerStepMax) return;
  const std::string count = cells ? std::to_string(*cells) : "more than 2^62";
  at.at("params").refuse(
      "the full grid has " + count + " tasks, more than " + std::to_string(kTasksPerStepMax), count,
      "add samples: N to draw N of them, or use fewer values");
}

}  // namespace

void check_tasks(const Site& at, const StepSpec& step) {
  if (at.at("params").sized(step.params.size(), kParametersMax, "parameters")) {
    check_parameters(at.at("params"), step);
  }
  step.search ? check_searched(at, step) : check_grid(at, step);
  const std::optional<std::int64_t> tasks = task_count_of(step);
  if (!tasks || step.task_count == *tasks) return;
  at.at("task_count")
      .refuse("the step has " + std::to_string(*tasks) + " tasks", step.task_count,
              "write " + std::to_string(*tasks));
}

}  // namespace runnel::model::detail
