#include "search/grid_sampler.h"

#include <set>

#include <gtest/gtest.h>

#include "search/sampling.h"
#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

using testing::choice;
using testing::range;
using testing::when;

std::vector<Texts> whole_grid(const Space& space) {
  const auto sampler = make_grid_sampler({.space = &space});
  std::vector<Texts> all;
  for (std::int64_t number = 0; number < grid_points(space).value_or(0); ++number) {
    all.push_back(space.texts(sampler->suggest(number)));
  }
  return all;
}

TEST(GridSampler, WithoutConditionsItIsTheGridOfAStep) {
  model::StepSpec step;
  step.params = {choice("a", {"x", "y", "z"}), range("b", "-1", "2"), choice("c", {"1"}),
                 range("d", "7", "8")};
  step.task_count = MUST(grid_size(step.params));
  const std::vector<Texts> all = whole_grid(Space(step.params));
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), step.task_count);
  for (std::int64_t task = 0; task < step.task_count; ++task) {
    EXPECT_EQ(all[static_cast<std::size_t>(task)], draw(step, 0, StepIndex(0), TaskIndex(task)));
  }
}

TEST(GridSampler, ConditionsRepeatNothing) {
  const Space space({choice("kind", {"tree", "line"}),
                     when(range("depth", "1", "3"), "kind", {"tree"}),
                     when(choice("split", {"gini", "entropy"}), "kind", {"tree"}),
                     testing::uniform("rate", "0", "0.5", "0.25")});
  const std::vector<Texts> all = whole_grid(space);
  EXPECT_EQ(all.size(), 21u);  // (3 * 2 + 1) * 3.
  EXPECT_EQ(std::set<Texts>(all.begin(), all.end()).size(), all.size());
  for (const Texts& texts : all) EXPECT_TRUE(space.point(texts));
}

TEST(GridSampler, CountsLogarithmicRanges) {
  const Space space({testing::log_range("n", "1", "5")});
  const std::vector<Texts> all = whole_grid(space);
  EXPECT_EQ(std::set<Texts>(all.begin(), all.end()).size(), 5u);
}

TEST(GridSampler, SomeSpacesCannotBeCounted) {
  EXPECT_EQ(grid_points(Space({testing::uniform("x", "0", "1")})), std::nullopt);
  std::vector<model::Parameter> many;
  for (int axis = 0; axis < 6; ++axis) {
    many.push_back(range("n" + std::to_string(axis), "1", "1000"));
  }
  EXPECT_EQ(grid_points(Space(many)), std::nullopt);
  EXPECT_EQ(grid_points(Space(std::vector<model::Parameter>{})), 1);
}

// A job's file may ask for more trials than its conditions leave points.
TEST(GridSampler, AfterTheLastPointTheFirstComesAgain) {
  const Space space({choice("a", {"x", "y"}), when(range("b", "1", "2"), "a", {"x"})});
  const auto sampler = make_grid_sampler({.space = &space});
  ASSERT_EQ(grid_points(space), 3);
  for (const std::int64_t number : {0, 1, 2}) {
    EXPECT_EQ(space.texts(sampler->suggest(number + 3)), space.texts(sampler->suggest(number)));
  }
}

}  // namespace
}  // namespace runnel::search
