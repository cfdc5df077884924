#include "model/parameters.h"

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

TEST(Parameters, GridsAreCountedWithoutOverflow) {
  const auto range = [](const char* low, const char* high) {
    Parameter parameter;
    parameter.kind = Parameter::Kind::kRange;
    parameter.low = low;
    parameter.high = high;
    return parameter;
  };
  EXPECT_EQ(grid_cells({}), 1);
  EXPECT_EQ(grid_cells({range("0", "7"), range("-3", "4")}), 64);
  const Parameter huge = range("-2305843009213693952", "2305843009213693952");
  EXPECT_FALSE(grid_cells({huge}).has_value() && *grid_cells({huge}) < 0);
  EXPECT_FALSE(grid_cells({huge, huge}).has_value());
  Parameter real;
  real.kind = Parameter::Kind::kUniform;
  EXPECT_EQ(value_count(real), 1);
}

TEST(Parameters, OneAtFaultSpansNothing) {
  const Parameter none{.name = "a", .kind = Parameter::Kind::kRange, .low = "9", .high = "1"};
  const Parameter two{.name = "b", .values = {"1", "2"}};
  EXPECT_EQ(value_count(none), 0);
  EXPECT_EQ(grid_cells({none, two}), 2);
}

TEST(Parameters, TheTasksFollowFromSearchSamplesOrGrid) {
  StepSpec step;
  step.params = {{.name = "b", .values = {"1", "2"}}};
  EXPECT_EQ(task_count_of(step), 2);
  step.params.push_back({.name = "lr", .kind = Parameter::Kind::kUniform, .low = "0", .high = "1"});
  EXPECT_FALSE(task_count_of(step).has_value());
  step.samples = 7;
  EXPECT_EQ(task_count_of(step), 7);
  step.search = SearchSpec{.objectives = {{"loss", false}}, .max_trials = 4};
  EXPECT_EQ(task_count_of(step), 4);
}

TEST(Parameters, APointNamesWhatIsPossible) {
  const std::vector<Parameter> params = {
      {.name = "lr", .kind = Parameter::Kind::kUniform, .low = "0", .high = "1"},
      {.name = "n", .kind = Parameter::Kind::kRange, .low = "1", .high = "4"},
      {.name = "of", .values = {"sgd"}}};
  EXPECT_FALSE(point_fault(params, "lr", "0.5").has_value());
  EXPECT_FALSE(point_fault(params, "n", "4").has_value());
  EXPECT_FALSE(point_fault(params, "of", "sgd").has_value());
  EXPECT_EQ(point_fault(params, "lr", "2")->message, "'2' is not possible for 'lr'");
  EXPECT_TRUE(point_fault(params, "n", "1.5").has_value());
  EXPECT_TRUE(point_fault(params, "of", "adam").has_value());
  EXPECT_EQ(point_fault(params, "rate", "2")->message, "'rate' is not a parameter of this step");
}

}  // namespace
}  // namespace runnel::model
