#include "search/sampler.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/random_stream.h"
#include "search/testing/parameters.h"
#include "search/testing/study.h"
#include "search/unit_point.h"

namespace runnel::search {
namespace {

using Method = model::SearchSpec::Method;
using testing::Study;

std::vector<model::Parameter> six_numbers() {
  std::vector<model::Parameter> params;
  for (int axis = 0; axis < 6; ++axis) {
    params.push_back(testing::uniform("x" + std::to_string(axis), "0", "1"));
  }
  return params;
}

// How far the coordinates are from a third of their axes; a choice should be its last value.
double distance(const Space& space, const Point& point) {
  double sum = 0;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    if (!space.active(point, axis)) continue;
    const bool choice = space.axes()[axis].kind == Axis::Kind::kCategorical;
    const double gap = choice ? (point[axis] + 1 == space.cells(axis) ? 0.0 : 0.3)
                              : space.to_unit(axis, point[axis]) - 1.0 / 3;
    sum += gap * gap;
  }
  return sum;
}

Study::Objective distance_in(const Space& space) {
  return [&space](std::int64_t /*number*/, const Point& point) {
    return Outcome{.values = {distance(space, point)}};
  };
}

// Every fifth trial is pruned, every seventh fails.
Study::Objective troubled_distance_in(const Space& space, std::size_t objectives = 1) {
  return [&space, objectives](std::int64_t number, const Point& point) -> Outcome {
    if (number % 7 == 3) return {.kind = Outcome::Kind::kFailed};
    const std::vector<double> values(objectives, distance(space, point));
    if (number % 5 == 2) return {.kind = Outcome::Kind::kPruned, .values = values, .step = number};
    return {.values = values};
  };
}

class EverySampler : public ::testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Search, EverySampler,
                         ::testing::Values(Method::kRandom, Method::kTpe, Method::kCmaEs,
                                           Method::kGp, Method::kNsga2, Method::kPbt,
                                           Method::kAuto));

TEST_P(EverySampler, ToldEverythingAgainSuggestsTheSame) {
  const Space space(testing::mixed_parameters());
  Study study(space, GetParam(), 100);
  const auto again = study.fresh();
  const auto objective = troubled_distance_in(space);
  std::int64_t told = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    const Point point = study.sampler().suggest(number);
    // The other one is asked once in a while only: suggesting leaves no traces.
    if (number % 9 == 4) {
      ASSERT_EQ(space.texts(again->suggest(number)), space.texts(point)) << number;
    }
    ASSERT_EQ(space.texts(study.sampler().suggest(number)), space.texts(point)) << number;
    study.ask(point);
    again->asked(number, point);
    for (; told + 3 < number; ++told) {
      again->told(told, objective(told, study.points()[static_cast<std::size_t>(told)]));
      study.tell(objective);
    }
  }
}

TEST_P(EverySampler, SuggestsOnlyWhatIsPossible) {
  const Space space(testing::mixed_parameters());
  Study study(space, GetParam(), 100);
  study.run(80, troubled_distance_in(space), 4);
  for (const Point& point : study.points()) {
    const Texts texts = space.texts(point);
    const auto back = space.point(texts);
    ASSERT_TRUE(back.ok()) << back.error().to_string();
    EXPECT_EQ(space.texts(space.repaired(point)), texts);
  }
}

TEST_P(EverySampler, TrialsAtOnceDiffer) {
  const Space space(six_numbers());
  Study study(space, GetParam(), 200);
  study.run(40, distance_in(space));
  std::set<Point> suggested;
  for (int lane = 0; lane < 16; ++lane) {
    study.ask(study.sampler().suggest(study.next()));
    suggested.insert(study.points().back());
  }
  EXPECT_EQ(suggested.size(), 16u);
}

TEST_P(EverySampler, AnotherSeedIsAnotherSearch) {
  const Space space(six_numbers());
  Study one(space, GetParam(), 100, 1);
  Study other(space, GetParam(), 100, 2);
  EXPECT_NE(one.sampler().suggest(0), other.sampler().suggest(0));
}

TEST_P(EverySampler, TakesPointsThatItDidNotSuggest) {
  const Space space(testing::mixed_parameters());
  Study study(space, GetParam(), 100);
  RandomStream stream(5);
  for (int trial = 0; trial < 30; ++trial) {
    study.ask(random_point(space, stream));
    study.tell(distance_in(space));
  }
  study.run(10, distance_in(space));
  EXPECT_EQ(study.next(), 40);
}

TEST_P(EverySampler, SurvivesWhenAllTrialsFail) {
  const Space space(testing::mixed_parameters());
  Study study(space, GetParam(), 100);
  study.run(40, [](std::int64_t number, const Point&) -> Outcome {
    if (number % 2 == 0) return {.kind = Outcome::Kind::kFailed};
    return {.kind = Outcome::Kind::kPruned};
  });
  EXPECT_EQ(study.next(), 40);
}

TEST_P(EverySampler, SurvivesAConstant) {
  const Space space(testing::mixed_parameters());
  Study study(space, GetParam(), 100);
  study.run(60, [](std::int64_t, const Point&) { return Outcome{.values = {1}}; }, 3);
  EXPECT_EQ(study.next(), 60);
}

TEST_P(EverySampler, ManagesASpaceWithoutAChoice) {
  for (const auto& params : {std::vector<model::Parameter>{},
                             std::vector<model::Parameter>{testing::uniform("x", "2", "2")},
                             std::vector<model::Parameter>{testing::choice("c", {"only"})}}) {
    const Space space(params);
    Study study(space, GetParam() == Method::kAuto ? Method::kTpe : GetParam(), 30);
    study.run(30, distance_in(space), 2);
    EXPECT_EQ(study.next(), 30);
  }
}

class LearningSampler : public ::testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Search, LearningSampler,
                         ::testing::Values(Method::kTpe, Method::kCmaEs, Method::kGp,
                                           Method::kNsga2));

double median_best(const Space& space, Method method, std::int64_t parallel) {
  // The Gaussian process is slow and needs few; it is compared with as much chance as the others.
  const std::int64_t trials = method == Method::kGp ? 40 : 120;
  std::vector<double> bests;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Study study(space, method, trials, seed);
    study.run(trials, distance_in(space), parallel);
    bests.push_back(study.best());
  }
  std::ranges::sort(bests);
  return bests[2];
}

TEST_P(LearningSampler, FindsMoreThanChanceDoes) {
  for (const auto& params : {six_numbers(), testing::mixed_parameters()}) {
    const Space space(params);
    const double by_chance = median_best(space, Method::kRandom, 1);
    EXPECT_LT(median_best(space, GetParam(), 1), 0.6 * by_chance);
    EXPECT_LT(median_best(space, GetParam(), 8), 0.8 * by_chance);
  }
}

// A fit of more than 100 trials is spread over the tells after it.
TEST(GpSampler, SuggestsTheSameFromHalfAFitAndGoesOnLearning) {
  const Space space(six_numbers());
  Study study(space, Method::kGp, 400);
  RandomStream stream(5);
  const auto objective = distance_in(space);
  for (std::int64_t number = 0; number < 140; ++number) {
    study.ask(random_point(space, stream));
    study.tell(objective);
    if (number < 108) continue;
    const Point suggested = study.sampler().suggest(number + 1);
    if (number % 4 != 0) continue;
    const auto again = study.fresh();  // Told all at once, and asked for nothing on the way.
    for (std::int64_t earlier = 0; earlier <= number; ++earlier) {
      const Point& point = study.points()[static_cast<std::size_t>(earlier)];
      again->asked(earlier, point);
      again->told(earlier, objective(earlier, point));
    }
    ASSERT_EQ(again->suggest(number + 1), suggested) << number;
  }
  EXPECT_LT(distance(space, study.sampler().suggest(140)), study.best() / 10);
}

TEST(Nsga2, SpreadsAlongTheFront) {
  const Space space(six_numbers());
  Study study(space, Method::kNsga2, 400, 1, 2);
  const auto objectives = [](const Point& point) {
    double rest = 0;
    for (std::size_t axis = 1; axis < point.size(); ++axis) rest += point[axis];
    return std::vector<double>{point[0], 1 - std::sqrt(point[0]) + rest};
  };
  study.run(400,
            [&](std::int64_t, const Point& point) { return Outcome{.values = objectives(point)}; });
  std::set<int> tenths;
  for (const Point& point : study.points()) {
    if (objectives(point)[1] < 1.3 - std::sqrt(point[0]))
      tenths.insert(static_cast<int>(point[0] * 10));
  }
  EXPECT_GE(tenths.size(), 5u);
}

TEST(Auto, DecidesBySpaceObjectivesAndBudget) {
  const auto chosen = [](const std::vector<model::Parameter>& params, std::int64_t max_trials,
                         std::size_t objectives = 1) {
    model::SearchSpec spec;
    spec.max_trials = max_trials;
    spec.objectives.resize(objectives);
    return chosen_method(spec, Space(params));
  };
  EXPECT_EQ(chosen(six_numbers(), 100), Method::kGp);
  EXPECT_EQ(chosen(six_numbers(), 100, 2), Method::kNsga2);
  EXPECT_EQ(chosen(six_numbers(), 5'000), Method::kCmaEs);
  EXPECT_EQ(chosen(testing::mixed_parameters(), 100), Method::kGp);
  EXPECT_EQ(chosen(testing::mixed_parameters(), 5'000), Method::kTpe);
  EXPECT_EQ(chosen({testing::range("n", "1", "50")}, 50), Method::kGrid);
  EXPECT_EQ(chosen({testing::range("n", "1", "50")}, 49), Method::kGp);
}

}  // namespace
}  // namespace runnel::search
