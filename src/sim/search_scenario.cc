#include "sim/search_scenario.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::sim {
namespace {

using model::Parameter;
using Method = model::SearchSpec::Method;
using Texts = std::vector<std::pair<std::string, std::string>>;

Parameter between(Parameter::Kind kind, std::string name, std::string low, std::string high) {
  return {.name = std::move(name), .kind = kind, .low = std::move(low), .high = std::move(high)};
}

Parameter choice() { return {.name = "c", .values = {"sgd", "adam", "lamb"}}; }

Parameter range(bool log) {
  Parameter parameter = between(Parameter::Kind::kRange, "n", "1", "16");
  parameter.log = log;
  return parameter;
}

// Beside two plain numbers at times others: steps, logarithms, integers, a choice and what hangs on
// it.
std::vector<Parameter> mixed_parameters(Dice& dice) {
  std::vector<Parameter> params = {between(Parameter::Kind::kUniform, "x", "0", "1"),
                                   between(Parameter::Kind::kUniform, "y", "-5", "5")};
  if (dice.chance(200)) params.back().step = "0.5";
  if (dice.chance(200)) params.push_back(between(Parameter::Kind::kLogUniform, "r", "0.0001", "1"));
  if (dice.chance(200)) params.push_back(range(dice.chance(500)));
  if (!dice.chance(250)) return params;
  params.push_back(choice());
  if (!dice.chance(500)) return params;
  params.push_back(between(Parameter::Kind::kUniform, "m", "0", "0.75"));
  params.back().when = Parameter::Condition{"c", {"sgd"}};
  return params;
}

// 48 points for a grid; of few points a search that decides by itself makes one, too.
std::vector<Parameter> countable_parameters(Method method) {
  if (method == Method::kAuto) return {choice()};
  return {choice(), range(false)};
}

// Values that go together, by name; those that hang on others are left out where any may be.
Texts point_of(Dice& dice, const std::vector<Parameter>& params, bool whole) {
  Texts point;
  for (const Parameter& each : params) {
    if (!whole && (each.when || dice.chance(300))) continue;
    const bool low = each.when || dice.chance(500);
    const std::string& end = low ? each.low : each.high;
    point.emplace_back(each.name, each.values.empty() ? end : each.values.front());
  }
  std::sort(point.begin(), point.end());
  return point;
}

void add_beginning(Dice& dice, const std::vector<Parameter>& params, model::SearchSpec& search) {
  if (dice.chance(250)) {
    for (std::int64_t left = dice.between(1, 3); left > 0; --left) {
      search.start.push_back(point_of(dice, params, false));
    }
  }
  if (!dice.chance(200)) return;
  for (std::int64_t left = dice.between(1, 5); left > 0; --left) {
    model::EarlierTrial trial{point_of(dice, params, true), {}};
    for (std::size_t value = 0; value < search.objectives.size(); ++value) {
      trial.values.push_back(std::to_string(dice.between(-500, 500)));
    }
    search.from.push_back(std::move(trial));
  }
}

void add_pruner(Dice& dice, model::SearchSpec& search) {
  using Kind = model::PrunerSpec::Kind;
  constexpr std::array kKinds = {Kind::kAsha, Kind::kAsha, Kind::kHyperband, Kind::kMedian};
  model::PrunerSpec& pruner = search.pruner.emplace();
  pruner.kind = dice.pick<Kind>(kKinds);
  pruner.eta = static_cast<std::int32_t>(dice.between(2, 4));
  pruner.startup_trials = static_cast<std::int32_t>(dice.between(1, 3));
  const bool bounded = pruner.kind == Kind::kHyperband || dice.chance(500);
  if (bounded) pruner.max_step = dice.between(2, 6);
}

// Several objectives are known to some methods only.
Method method_of(Dice& dice, bool several) {
  constexpr std::array kForOne = {Method::kRandom, Method::kTpe, Method::kCmaEs, Method::kNsga2};
  constexpr std::array kForSeveral = {Method::kNsga2, Method::kRandom, Method::kAuto};
  if (several) return dice.pick<Method>(kForSeveral);
  // A Gaussian process thinks as long as a whole schedule takes: rarely, and what may choose it.
  if (dice.chance(10)) return dice.chance(500) ? Method::kGp : Method::kAuto;
  return dice.pick<Method>(kForOne);
}

}  // namespace

void make_search(Dice& dice, model::StepSpec& step) {
  step.samples.reset();
  model::SearchSpec& search = step.search.emplace();
  const bool several = dice.chance(200);
  search.objectives = {{"loss", dice.chance(500)}};
  if (several) search.objectives.push_back({"size", dice.chance(500)});
  search.max_trials = step.task_count;
  search.method = method_of(dice, several);
  const bool is_grid = dice.chance(150);
  if (is_grid) search.method = dice.chance(500) ? Method::kGrid : Method::kAuto;
  step.params = is_grid ? countable_parameters(search.method) : mixed_parameters(dice);
  add_beginning(dice, step.params, search);
  if (dice.chance(200)) search.max_duration = Duration::millis(dice.between(100, 5'000));
  if (dice.chance(150)) search.max_failures = dice.between(0, 3);
  if (dice.chance(100)) search.budget = Money::micros(dice.between(1, 2'000));
  if (!several && dice.chance(700)) add_pruner(dice, search);
}

void make_population(Dice& dice, model::StepSpec& step) {
  CHECK(step.search.has_value(), "only a search has a population");
  model::SearchSpec& search = *step.search;
  search.method = Method::kPbt;
  search.objectives.resize(1);
  for (model::EarlierTrial& trial : search.from) trial.values.resize(1);
  search.pruner.reset();
  model::PopulationSpec& population = search.population.emplace();
  population.every = dice.between(1, 3);
  population.max_step = dice.chance(500) ? dice.between(4, 12) : 0;
  population.quantile_percent = static_cast<std::int32_t>(dice.between(10, 50));
  if (!step.checkpoint) step.checkpoint = model::CheckpointPolicy{"ckpt", {}, std::nullopt};
}

void make_outside(model::StepSpec& step) {
  CHECK(step.search.has_value(), "only a search can be asked for its trials");
  step.run = model::ExternalTrials();
  step.num_nodes = step.procs_per_node = 1;
  step.checkpoint.reset();
}

}  // namespace runnel::sim
