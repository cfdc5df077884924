#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "search/permutation.h"
#include "search/sampler.h"
#include "search/testing/parameters.h"
#include "search/testing/study.h"

// Every method over parameters of every kind, without faults: many small searches by chance.
namespace runnel::search {
namespace {

using Method = model::SearchSpec::Method;
using testing::Study;

constexpr std::int64_t kTrials = 40;

// A Gaussian process, which `auto` mostly comes to, thinks a hundred times as long as others.
std::uint64_t searches_per_kind(Method method) {
  return method == Method::kGp || method == Method::kAuto ? 1 : 6;
}

// Alone: what a sampler makes of a kind is not hidden by others.
std::map<std::string, std::vector<model::Parameter>> spaces() {
  const model::Parameter parent = testing::choice("c", {"sgd", "adam", "lamb"});
  return {{"uniform", {testing::uniform("p", "-2", "3")}},
          {"steps", {testing::uniform("p", "0", "1", "0.125")}},
          {"loguniform", {testing::loguniform("p", "0.001", "10")}},
          {"range", {testing::range("p", "-4", "20")}},
          {"logarithmic range", {testing::log_range("p", "1", "4096")}},
          {"choice", {parent}},
          {"conditional", {parent, testing::when(testing::uniform("p", "0", "1"), "c", {"adam"})}},
          {"one value", {testing::choice("p", {"only"}), testing::range("q", "7", "7")}},
          {"mixed", testing::mixed_parameters()}};
}

bool is_countable(const std::string& kind) {
  return kind == "range" || kind == "choice" || kind == "one value";
}

// A bowl in the unit coordinates, with trials that fail, are pruned or give no number at times.
Study::Objective bowl(const Space& space, std::uint64_t seed) {
  return [&space, seed](std::int64_t number, const Point& point) -> Outcome {
    const std::uint64_t rolled = derive(seed, static_cast<std::uint64_t>(number)) % 20;
    if (rolled == 0) return {.kind = Outcome::Kind::kFailed};
    double sum = 0;
    for (std::size_t axis = 0; axis < space.size(); ++axis) {
      if (!space.active(point, axis)) continue;
      const bool category = space.axes()[axis].kind == Axis::Kind::kCategorical;
      const double gap = category ? point[axis] : space.to_unit(axis, point[axis]) - 0.3;
      sum += gap * gap;
    }
    if (rolled < 3) return {.kind = Outcome::Kind::kPruned, .values = {sum}, .step = number};
    return {.values = {sum}};
  };
}

class SamplerCampaign : public ::testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Search, SamplerCampaign,
                         ::testing::Values(Method::kGrid, Method::kRandom, Method::kTpe,
                                           Method::kCmaEs, Method::kGp, Method::kNsga2,
                                           Method::kAuto));

// What is drawn stands in the job's file and log: it reads back as the same point, and a sampler
// that is told everything again after a restart goes on alike.
TEST_P(SamplerCampaign, DrawsWhatReadsBackAndGoesOnAfterARestart) {
  const std::uint64_t searches = searches_per_kind(GetParam());
  for (const auto& [kind, params] : spaces()) {
    const bool grid = GetParam() == Method::kGrid;
    if (grid && !is_countable(kind)) continue;
    const Space space(params);
    std::int64_t drawn = 0;
    for (std::uint64_t seed = 1; seed <= searches; ++seed) {
      Study study(space, GetParam(), kTrials, seed);
      const auto restarted = study.fresh();
      const auto objective = bowl(space, seed);
      for (std::int64_t number = 0; number < kTrials; ++number) {
        const Point point = study.sampler().suggest(number);
        const Texts texts = space.texts(point);
        const Result<Point> back = space.point(texts);
        ASSERT_TRUE(back.ok()) << kind << ": " << back.error().message;
        ASSERT_EQ(space.texts(*back), texts) << kind;
        if (number % 8 == 5) {
          ASSERT_EQ(space.texts(restarted->suggest(number)), texts) << kind << " " << number;
        }
        study.ask(point);
        restarted->asked(number, point);
        restarted->told(number, objective(number, point));
        study.tell(objective);
        ++drawn;
      }
    }
    EXPECT_EQ(drawn, static_cast<std::int64_t>(searches) * kTrials) << kind;
  }
}

// Nobody leaves out a value that can be had: the whole grid, and of a choice each value.
TEST_P(SamplerCampaign, ComesToEveryValueOfAChoice) {
  const Space space({testing::choice("c", {"sgd", "adam", "lamb"})});
  Study study(space, GetParam(), kTrials);
  study.run(kTrials, bowl(space, 1));
  std::set<double> values;
  for (const Point& point : study.points()) values.insert(point.front());
  EXPECT_EQ(values.size(), 3U);
}

}  // namespace
}  // namespace runnel::search
