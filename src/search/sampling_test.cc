#include "search/sampling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

using model::Parameter;
using Drawn = std::vector<std::pair<std::string, std::string>>;

using testing::choice;
using testing::loguniform;
using testing::range;
using testing::uniform;

std::vector<Parameter> grid_of_four_times_eight() {
  std::vector<Parameter> params;
  for (const char* name : {"a", "b", "c", "d"}) {
    params.push_back(choice(name, {"0", "1", "2", "3", "4", "5", "6", "7"}));
  }
  return params;
}

model::StepSpec sampled(std::vector<Parameter> params, std::int64_t samples) {
  model::StepSpec step;
  step.params = std::move(params);
  step.samples = samples;
  step.task_count = samples;
  return step;
}

model::StepSpec full(std::vector<Parameter> params) {
  model::StepSpec step;
  step.task_count = MUST(grid_size(params));
  step.params = std::move(params);
  return step;
}

std::vector<Drawn> all(const model::StepSpec& step, std::int64_t seed = 0, int step_index = 0) {
  std::vector<Drawn> drawn;
  for (std::int64_t task = 0; task < step.task_count; ++task) {
    drawn.push_back(draw(step, seed, StepIndex(step_index), TaskIndex(task)));
  }
  return drawn;
}

std::size_t distinct(const std::vector<Drawn>& drawn) {
  return std::set<Drawn>(drawn.begin(), drawn.end()).size();
}

std::string text_of(const Drawn& drawn) {
  std::string text;
  for (const auto& [name, value] : drawn) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

double real(const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(problem, std::errc()) << text;
  EXPECT_EQ(end, text.data() + text.size()) << text;
  return value;
}

// ---- J11 ---------------------------------------------------------------------------------------

TEST(Sampling, AsManyDrawsAsCellsCoverTheGridExactly) {
  for (const std::int64_t seed : {0, 1, 77, -5}) {
    EXPECT_EQ(distinct(all(sampled(grid_of_four_times_eight(), 4096), seed)), 4096u);
  }
}

TEST(Sampling, FourMoreDrawsAreFourRepeats) {
  for (const std::int64_t seed : {0, 1, 77, -5}) {
    const auto drawn = all(sampled(grid_of_four_times_eight(), 4100), seed);
    EXPECT_EQ(drawn.size(), 4100u);
    EXPECT_EQ(distinct(drawn), 4096u);
    std::map<Drawn, int> times;
    for (const Drawn& one : drawn) ++times[one];
    EXPECT_EQ(std::count_if(times.begin(), times.end(), [](auto& e) { return e.second == 2; }), 4);
  }
}

TEST(Sampling, FewDrawsAreDistinct) {
  for (std::int64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(distinct(all(sampled(grid_of_four_times_eight(), 10), seed)), 10u);
  }
}

TEST(Sampling, TheSameSeedGivesTheSameArgumentsAndAnotherDoesNot) {
  const auto step = sampled(grid_of_four_times_eight(), 100);
  EXPECT_EQ(all(step, 3), all(step, 3));
  EXPECT_NE(all(step, 3), all(step, 4));
  EXPECT_NE(all(step, 3, 0), all(step, 3, 1));
}

TEST(Sampling, ATaskDoesNotDependOnHowManyThereAre) {
  const auto few = all(sampled(grid_of_four_times_eight(), 10), 9);
  const auto many = all(sampled(grid_of_four_times_eight(), 500), 9);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(Sampling, EveryRoundThroughTheGridHasAnotherOrder) {
  const auto drawn = all(sampled({range("x", "0", "99")}, 300));
  const std::vector<Drawn> first(drawn.begin(), drawn.begin() + 100);
  const std::vector<Drawn> second(drawn.begin() + 100, drawn.begin() + 200);
  EXPECT_EQ(distinct(first), 100u);
  EXPECT_EQ(distinct(second), 100u);
  EXPECT_NE(first, second);
}

// These texts are a promise: a recipe of last year draws the same today, with either compiler.
TEST(Sampling, IsTheSameInEveryBuild) {
  const auto step = sampled({choice("opt", {"sgd", "adam", "lamb"}), range("width", "1", "1000000"),
                             uniform("dropout", "0", "0.5")},
                            5);
  std::vector<std::string> texts;
  for (const Drawn& drawn : all(step, 42, 1)) texts.push_back(text_of(drawn));
  EXPECT_EQ(texts, (std::vector<std::string>{"opt=adam width=511353 dropout=0.08098879954937524",
                                             "opt=adam width=511281 dropout=0.2777013550534374",
                                             "opt=sgd width=50350 dropout=0.4088480898859725",
                                             "opt=adam width=285364 dropout=0.31346525339631787",
                                             "opt=adam width=281639 dropout=0.13108207261875615"}));
}

// ---- J10 ---------------------------------------------------------------------------------------

TEST(Sampling, EightSamplesUseAllOfAListAndStayInsideAnInterval) {
  for (std::int64_t seed = 0; seed < 100; ++seed) {
    const auto drawn =
        all(sampled({choice("net", {"a", "b", "c", "d"}), uniform("lr", "0.01", "0.09")}, 8), seed);
    std::map<std::string, int> used;
    for (const Drawn& one : drawn) {
      ++used[one[0].second];
      EXPECT_GE(real(one[1].second), 0.01);
      EXPECT_LT(real(one[1].second), 0.09);
    }
    EXPECT_EQ(used, (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}}));
    EXPECT_EQ(distinct(drawn), 8u);
  }
}

// ---- full grids --------------------------------------------------------------------------------

TEST(Sampling, WithoutSamplesTheLastParameterTurnsFastest) {
  const auto drawn = all(full({choice("a", {"x", "y"}), range("b", "-1", "1")}));
  std::vector<std::string> texts;
  for (const Drawn& one : drawn) texts.push_back(text_of(one));
  EXPECT_EQ(texts, (std::vector<std::string>{"a=x b=-1", "a=x b=0", "a=x b=1", "a=y b=-1",
                                             "a=y b=0", "a=y b=1"}));
}

TEST(Sampling, AStepWithoutParametersDrawsNothing) {
  EXPECT_EQ(MUST(grid_size({})), 1);
  EXPECT_TRUE(draw(full({}), 0, StepIndex(0), TaskIndex(0)).empty());
  EXPECT_TRUE(draw(sampled({}, 7), 0, StepIndex(0), TaskIndex(6)).empty());
}

TEST(Sampling, AScalarIsAChoiceOfOne) {
  for (const Drawn& drawn : all(sampled({choice("a", {"5"}), range("b", "3", "3")}, 3))) {
    EXPECT_EQ(text_of(drawn), "a=5 b=3");
  }
}

TEST(Sampling, KeepsTheOrderOfTheFile) {
  const auto drawn =
      all(sampled({uniform("z", "0", "1"), choice("a", {"1"}), range("m", "0", "9")}, 1));
  EXPECT_EQ(drawn[0][0].first, "z");
  EXPECT_EQ(drawn[0][1].first, "a");
  EXPECT_EQ(drawn[0][2].first, "m");
}

TEST(GridSize, MultipliesDiscreteParametersOnly) {
  EXPECT_EQ(MUST(grid_size(grid_of_four_times_eight())), 4096);
  EXPECT_EQ(
      MUST(grid_size({range("a", "1", "10"), uniform("b", "0", "1"), choice("c", {"x", "y"})})),
      20);
  EXPECT_EQ(MUST(grid_size({range("a", "1", "100000000")})), model::kTasksPerStepMax);
}

TEST(GridSize, RefusesWhatIsTooLargeToRunWhole) {
  const auto refused = grid_size({range("a", "0", "99999"), range("b", "0", "99999")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_EQ(refused.error().field, "params.b");
  EXPECT_EQ(refused.error().hint, "say how many to draw with samples");
  EXPECT_FALSE(grid_size({range("a", "-9223372036854775808", "9223372036854775807")}).ok());
}

// ---- ranges too large to be written down
// -----------------------------------------------------------

TEST(Sampling, DrawsFromTheLargestRanges) {
  const auto step = sampled({range("a", "-9223372036854775808", "9223372036854775807"),
                             range("b", "0", "9223372036854775806"), choice("c", {"x", "y"})},
                            1000);
  const auto drawn = all(step);
  EXPECT_EQ(distinct(drawn), 1000u);
  std::set<std::string> used;
  int negative = 0;
  for (const Drawn& one : drawn) {
    negative += one[0].second.starts_with('-') ? 1 : 0;
    EXPECT_FALSE(one[1].second.starts_with('-'));
    used.insert(one[2].second);
  }
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
  EXPECT_EQ(used.size(), 2u);
}

TEST(Sampling, AMillionDrawsOfAHugeGridAreDistinct) {
  std::vector<Parameter> params;
  for (int i = 0; i < 4; ++i) params.push_back(range("p" + std::to_string(i), "0", "999999999"));
  const auto step = sampled(std::move(params), 1'000'000);
  std::set<Drawn> seen;
  for (std::int64_t task = 0; task < 20'000; ++task) {
    const Drawn drawn = draw(step, 1, StepIndex(0), TaskIndex(task * 50));
    ASSERT_TRUE(seen.insert(drawn).second);
  }
}

// ---- real numbers ------------------------------------------------------------------------------

TEST(Sampling, EachSliceOfAnIntervalIsHitOnce) {
  std::vector<bool> hit(50, false);
  for (const Drawn& drawn : all(sampled({uniform("x", "0", "50")}, 50))) {
    const auto slice = static_cast<std::size_t>(real(drawn[0].second));
    ASSERT_LT(slice, 50u);
    EXPECT_FALSE(hit[slice]);
    hit[slice] = true;
  }
}

TEST(Sampling, LogUniformSpreadsOverTheMagnitudes) {
  std::map<int, int> per_decade;
  for (const Drawn& drawn : all(sampled({loguniform("lr", "1e-4", "1e-1")}, 300))) {
    const double value = real(drawn[0].second);
    EXPECT_GE(value, 1e-4);
    EXPECT_LT(value, 1e-1);
    ++per_decade[static_cast<int>(std::floor(std::log10(value)))];
  }
  EXPECT_EQ(per_decade, (std::map<int, int>{{-4, 100}, {-3, 100}, {-2, 100}}));
}

TEST(Sampling, IntervalsAreIndependentOfEachOther) {
  double product = 0;
  const auto drawn = all(sampled({uniform("x", "-1", "1"), uniform("y", "-1", "1")}, 2'000));
  for (const Drawn& one : drawn) product += real(one[0].second) * real(one[1].second);
  EXPECT_LT(std::abs(product / 2'000), 0.03);  // The standard deviation is 0.0075.
}

TEST(Sampling, PrintsTheShortestTextThatReadsBack) {
  for (const Drawn& drawn : all(sampled({uniform("x", "0.01", "0.09")}, 1000))) {
    const std::string& text = drawn[0].second;
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), real(text)).ptr;
    EXPECT_EQ(text, std::string(buffer.data(), end));
    EXPECT_LE(text.size(), 22u);
  }
}

TEST(Sampling, NarrowAndHugeIntervalsAreNeverLeft) {
  const auto step =
      sampled({uniform("tiny", "1", "1.0000000000000002"), uniform("huge", "-1.7e308", "1.7e308"),
               loguniform("log", "1e-300", "1.0000000000000002e-300")},
              64);
  for (const Drawn& drawn : all(step)) {
    EXPECT_EQ(drawn[0].second, "1");
    EXPECT_LT(std::abs(real(drawn[1].second)), 1.7e308);
    EXPECT_EQ(drawn[2].second, "1e-300");
  }
}

TEST(SamplingDeathTest, ATaskOutsideTheGridIsOurBug) {
  const auto step = full({choice("a", {"x", "y"})});
  EXPECT_DEATH((void)draw(step, 0, StepIndex(0), TaskIndex(2)), "outside the grid");
  EXPECT_DEATH((void)draw(step, 0, StepIndex(0), TaskIndex(-1)), "negative task index");
}

}  // namespace
}  // namespace runnel::search
