#include "search/hyperband.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

using Type = Asha::Type;

const model::PrunerSpec kFourBrackets{
    .kind = model::PrunerSpec::Kind::kHyperband, .min_step = 1, .max_step = 27, .eta = 3};

// The first trial of a bracket, from `after` on.
std::int64_t trial_of(const Hyperband& hyperband, std::size_t bracket, std::int64_t after = 0) {
  while (hyperband.bracket_of(after) != bracket) ++after;
  return after;
}

// n_s of the paper for R / r = 27, eta = 3: 27, 12, 6, 4 of 49.
TEST(Hyperband, TrialsAreDealtInThePapersProportions) {
  const Hyperband hyperband(kFourBrackets, Type::kPromotion);
  ASSERT_EQ(hyperband.brackets(), 4u);
  for (const std::int64_t trials : {64, 640, 6'400}) {
    std::vector<double> dealt(4, 0);
    for (std::int64_t trial = 0; trial < trials; ++trial) ++dealt[hyperband.bracket_of(trial)];
    const std::vector<double> wanted = {27.0 / 49, 12.0 / 49, 6.0 / 49, 4.0 / 49};
    // Each round is right to one trial.
    const auto slack = static_cast<double>(trials) / 64 * 1.01;
    for (std::size_t bracket = 0; bracket < 4; ++bracket) {
      EXPECT_NEAR(dealt[bracket], wanted[bracket] * static_cast<double>(trials), slack) << bracket;
    }
  }
}

// The last bracket has 4 of 618: less than one in a round, so a round gives it one or none.
TEST(Hyperband, TheSmallestShareOfAllIsDealtToo) {
  const Hyperband hyperband({.min_step = 1, .max_step = 512, .eta = 8}, Type::kPromotion);
  ASSERT_EQ(hyperband.brackets(), 4u);
  std::int64_t last = 0;
  for (std::int64_t trial = 0; trial < 64'000; ++trial) {
    last += hyperband.bracket_of(trial) == 3 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(last), 64'000 * 4.0 / (512 + 86 + 16 + 4), 80);
}

// The trials of a grid repeat themselves: no bracket may get those of one remainder only.
TEST(Hyperband, BracketsDoNotFollowThePositionInAGrid) {
  const Hyperband hyperband(kFourBrackets, Type::kPromotion);
  for (const std::int64_t period : {2, 3, 8}) {
    std::vector<double> hits(static_cast<std::size_t>(period), 0);
    for (std::int64_t trial = 0; trial < 6'400; ++trial) {
      if (hyperband.bracket_of(trial) == 1) ++hits[static_cast<std::size_t>(trial % period)];
    }
    const double expected = 6'400 * 12.0 / 49 / static_cast<double>(period);
    for (const double count : hits) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
  }
}

TEST(Hyperband, ABracketBeginsAtItsRung) {
  const Hyperband hyperband(kFourBrackets, Type::kPromotion);
  EXPECT_EQ(hyperband.next_step(trial_of(hyperband, 0), 0), 1);
  EXPECT_EQ(hyperband.next_step(trial_of(hyperband, 1), 0), 3);
  EXPECT_EQ(hyperband.next_step(trial_of(hyperband, 2), 0), 9);
  EXPECT_EQ(hyperband.next_step(trial_of(hyperband, 3), 0), std::nullopt);
}

TEST(Hyperband, BracketsDoNotSeeEachOther) {
  Hyperband hyperband(kFourBrackets, Type::kStopping);
  const std::int64_t first = trial_of(hyperband, 0);
  EXPECT_EQ(hyperband.reported(first, 3, 1), Verdict::kGoOn);
  EXPECT_EQ(hyperband.reported(trial_of(hyperband, 1), 3, 2), Verdict::kGoOn);
  EXPECT_EQ(hyperband.reported(trial_of(hyperband, 0, first + 1), 3, 2), Verdict::kStop);
}

// Three of each bracket wait at their first rung, so the best of each is promotable.
TEST(Hyperband, PromotesFromTheHighestRungOfAnyBracket) {
  Hyperband hyperband(kFourBrackets, Type::kPromotion);
  std::vector<std::int64_t> best;
  for (std::size_t bracket = 0; bracket < 3; ++bracket) {
    const auto step = static_cast<std::int64_t>(std::pow(3, bracket));
    std::int64_t trial = trial_of(hyperband, bracket);
    best.push_back(trial);
    for (int count = 0; count < 3; ++count, ++trial) {
      trial = trial_of(hyperband, bracket, trial);
      EXPECT_EQ(hyperband.reported(trial, step, count), Verdict::kPause);
    }
  }
  EXPECT_EQ(hyperband.promotable(), best[2]);
  hyperband.promoted(best[2]);
  EXPECT_EQ(hyperband.promotable(), best[1]);
  hyperband.ended(best[1]);
  EXPECT_EQ(hyperband.promotable(), best[0]);
}

TEST(HyperbandDeathTest, BrokenContracts) {
  EXPECT_DEATH(Hyperband({.max_step = 0}, Type::kPromotion), "without an end");
  const Hyperband hyperband(kFourBrackets, Type::kPromotion);
  EXPECT_DEATH((void)hyperband.bracket_of(-1), "negative");
}

}  // namespace
}  // namespace runnel::search
