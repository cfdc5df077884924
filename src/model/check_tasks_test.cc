#include <gtest/gtest.h>

#include "model/detail/checks.h"

namespace runnel::model::detail {
namespace {

using Method = SearchSpec::Method;

Parameter choice(std::string name, std::vector<std::string> values) {
  return {.name = std::move(name), .values = std::move(values)};
}

Parameter interval(std::string name) {
  return {.name = std::move(name), .kind = Parameter::Kind::kUniform, .low = "0", .high = "1"};
}

StepSpec searching(std::vector<Parameter> params, std::int64_t trials = 4) {
  StepSpec step;
  step.params = std::move(params);
  step.task_count = trials;
  step.search = SearchSpec{.objectives = {{"loss", false}}, .max_trials = trials};
  return step;
}

// The field that is at fault; "" when none is.
std::string fault_of(const StepSpec& step) {
  std::vector<Error> faults;
  check_tasks(Site(faults, Rules::kStored), step);
  return faults.empty() ? "" : faults.front().field;
}

TEST(CheckTasks, ASearchNeedsParametersAnObjectiveAndTrials) {
  EXPECT_EQ(fault_of(searching({interval("x")})), "");
  EXPECT_EQ(fault_of(searching({})), "params");
  StepSpec step = searching({interval("x")});
  step.search->objectives.clear();
  EXPECT_EQ(fault_of(step), "search.objectives");
  step = searching({interval("x")}, 0);
  EXPECT_EQ(fault_of(step), "search.max_trials");
  step = searching({interval("x")});
  step.task_count = 5;
  EXPECT_EQ(fault_of(step), "task_count");
  step = searching({interval("x")});
  step.samples = 4;
  EXPECT_EQ(fault_of(step), "samples");
}

TEST(CheckTasks, AConditionLooksBackAtAChoice) {
  Parameter momentum = interval("momentum");
  momentum.when = Parameter::Condition{"optimizer", {"sgd"}};
  EXPECT_EQ(fault_of(searching({choice("optimizer", {"sgd", "adam"}), momentum})), "");
  EXPECT_EQ(fault_of(searching({momentum, choice("optimizer", {"sgd"})})), "params.momentum.when");
  EXPECT_EQ(fault_of(searching({choice("optimizer", {"adam"}), momentum})), "params.momentum.when");
  EXPECT_EQ(fault_of(searching({interval("optimizer"), momentum})), "params.momentum.when");
}

TEST(CheckTasks, OnlyASearchUnderstandsStepsLogarithmsAndConditions) {
  StepSpec step;
  step.params = {{.name = "n", .kind = Parameter::Kind::kRange, .low = "1", .high = "4"}};
  step.task_count = 4;
  EXPECT_EQ(fault_of(step), "");
  step.params[0].log = true;
  EXPECT_EQ(fault_of(step), "params.n");
  EXPECT_EQ(fault_of(searching(step.params)), "");
  step.params[0].low = "0";
  EXPECT_EQ(fault_of(searching(step.params)), "params.n.log");
}

TEST(CheckTasks, SeveralObjectivesNeedAMethodThatKnowsThem) {
  StepSpec step = searching({interval("x")});
  step.search->objectives = {{"loss", false}, {"seconds", false}};
  for (const Method method : {Method::kAuto, Method::kRandom, Method::kNsga2}) {
    step.search->method = method;
    EXPECT_EQ(fault_of(step), "");
  }
  for (const Method method : {Method::kTpe, Method::kCmaEs, Method::kGp}) {
    step.search->method = method;
    EXPECT_EQ(fault_of(step), "search.method");
  }
  step.search->method = Method::kAuto;
  step.search->pruner.emplace();
  EXPECT_EQ(fault_of(step), "search.pruner");
}

TEST(CheckTasks, AGridIsNoLargerThanItsCells) {
  StepSpec step = searching({choice("x", {"1", "2"}), choice("y", {"1", "2"})});
  step.search->method = Method::kGrid;
  EXPECT_EQ(fault_of(step), "");
  step.search->max_trials = step.task_count = 5;
  EXPECT_EQ(fault_of(step), "search.max_trials");
}

TEST(CheckTasks, AnEarlierTrialHasAValueForEachObjective) {
  StepSpec step = searching({interval("x")});
  step.search->from = {{{{"x", "0.5"}}, {"1"}}};
  EXPECT_EQ(fault_of(step), "");
  step.search->from.push_back({{{"x", "0.5"}}, {"1", "2"}});
  EXPECT_EQ(fault_of(step), "search.from[1].values");
  step.search->from.assign(kEarlierTrialsMax + 1, {{{"x", "0.5"}}, {"1"}});
  EXPECT_EQ(fault_of(step), "search.from");
}

TEST(CheckTasks, APopulationNeedsCheckpointsAndNoPruner) {
  StepSpec step = searching({interval("x")});
  step.search->method = Method::kPbt;
  EXPECT_EQ(fault_of(step), "search.population");
  step.search->population = PopulationSpec{};
  EXPECT_EQ(fault_of(step), "search.population");
  step.checkpoint = CheckpointPolicy{"ckpt", Duration(), std::nullopt};
  EXPECT_EQ(fault_of(step), "");
  step.search->pruner = PrunerSpec{};
  EXPECT_EQ(fault_of(step), "search.pruner");
  step.search->pruner.reset();
  step.search->objectives.push_back({"seconds", false});
  EXPECT_EQ(fault_of(step), "search.method");
  step.search->objectives.pop_back();
  step.search->method = Method::kTpe;
  EXPECT_EQ(fault_of(step), "search.population");
}

TEST(CheckTasks, APopulationStaysWithinItsLimits) {
  const auto with = [](PopulationSpec population) {
    StepSpec step = searching({interval("x")});
    step.search->method = Method::kPbt;
    step.search->population = population;
    step.checkpoint = CheckpointPolicy{"ckpt", Duration(), std::nullopt};
    return fault_of(step);
  };
  EXPECT_EQ(with({.every = 0}), "search.population.every");
  EXPECT_EQ(with({.max_step = -1}), "search.population.max_step");
  EXPECT_EQ(with({.quantile_percent = 0}), "search.population.quantile_percent");
  EXPECT_EQ(with({.quantile_percent = 51}), "search.population.quantile_percent");
  EXPECT_EQ(with({.resample_percent = 101}), "search.population.resample_percent");
  EXPECT_EQ(with({.every = 3, .max_step = 9, .quantile_percent = 50, .resample_percent = 0}), "");
}

TEST(CheckTasks, AHyperbandKnowsItsLastStep) {
  StepSpec step = searching({interval("x")});
  step.search->pruner = PrunerSpec{.kind = PrunerSpec::Kind::kHyperband};
  EXPECT_EQ(fault_of(step), "search.pruner.max_step");
  step.search->pruner->max_step = 27;
  EXPECT_EQ(fault_of(step), "");
  step.search->pruner->eta = 1;
  EXPECT_EQ(fault_of(step), "search.pruner.eta");
}

}  // namespace
}  // namespace runnel::model::detail
