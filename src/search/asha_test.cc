#include "search/asha.h"

#include <limits>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

using Steps = std::vector<std::int64_t>;
using Type = Asha::Type;

model::PrunerSpec halving(std::int64_t max_step = 8) {
  return {.min_step = 1, .max_step = max_step, .eta = 2};
}

TEST(Asha, RungsArePowersBelowTheEnd) {
  EXPECT_EQ(rung_steps({.min_step = 1, .max_step = 64, .eta = 4}), (Steps{1, 4, 16}));
  EXPECT_EQ(rung_steps({.min_step = 3, .max_step = 65, .eta = 4}), (Steps{3, 12, 48}));
  EXPECT_EQ(rung_steps({.min_step = 8, .max_step = 8, .eta = 4}), Steps());
  const Steps endless = rung_steps({.min_step = 1, .max_step = 0, .eta = 2});
  EXPECT_EQ(endless.size(), 63u);
  EXPECT_EQ(endless.back(), std::int64_t{1} << 62);
  EXPECT_EQ(rung_steps({.min_step = std::numeric_limits<std::int64_t>::max() - 1, .eta = 4}).size(),
            1u);
}

TEST(Asha, NamesTheNextRung) {
  const Asha asha({.min_step = 2, .max_step = 32, .eta = 4}, Type::kPromotion);
  EXPECT_EQ(asha.next_step(0, 0), 2);
  EXPECT_EQ(asha.next_step(0, 2), 8);
  EXPECT_EQ(asha.next_step(0, 7), 8);
  EXPECT_EQ(asha.next_step(0, 8), std::nullopt);  // 32 is the end, where nothing is judged.
}

// ---- promotion ---------------------------------------------------------------------------------

TEST(Asha, PausesUntilThereAreEta) {
  Asha asha(halving(), Type::kPromotion);
  EXPECT_EQ(asha.reported(0, 1, 5), Verdict::kPause);
  EXPECT_EQ(asha.promotable(), std::nullopt);
  EXPECT_EQ(asha.reported(1, 1, 6), Verdict::kPause);
  EXPECT_EQ(asha.promotable(), 0);
  asha.promoted(0);
  EXPECT_EQ(asha.promotable(), std::nullopt);
  EXPECT_EQ(asha.reported(0, 2, 4), Verdict::kPause);
}

TEST(Asha, OneOfTheBestGoesOnAtOnce) {
  Asha asha(halving(), Type::kPromotion);
  EXPECT_EQ(asha.reported(0, 1, 5), Verdict::kPause);
  EXPECT_EQ(asha.reported(1, 1, 4), Verdict::kGoOn);
  EXPECT_EQ(asha.promotable(), std::nullopt);
}

TEST(Asha, PromotesFromTheHighestRungThenTheBest) {
  Asha asha(halving(), Type::kPromotion);
  for (std::int64_t trial = 0; trial < 4; ++trial) {
    EXPECT_EQ(asha.reported(trial, 1, 10 + static_cast<double>(trial)), Verdict::kPause);
  }
  EXPECT_EQ(asha.promotable(), 0);
  asha.promoted(0);
  EXPECT_EQ(asha.promotable(), 1);
  asha.promoted(1);
  EXPECT_EQ(asha.reported(0, 2, 9), Verdict::kPause);
  EXPECT_EQ(asha.reported(1, 2, 9.5), Verdict::kPause);
  (void)asha.reported(4, 1, 20);
  (void)asha.reported(5, 1, 21);
  EXPECT_EQ(asha.promotable(), 0);  // At rung 2, before trial 2 at rung 1.
  asha.promoted(0);
  EXPECT_EQ(asha.promotable(), 2);
}

TEST(Asha, WhoEndedIsNotPromoted) {
  Asha asha(halving(), Type::kPromotion);
  (void)asha.reported(0, 1, 5);
  (void)asha.reported(1, 1, 6);
  asha.ended(0);
  EXPECT_EQ(asha.promotable(), std::nullopt);  // Its place is taken all the same: 1 is the second.
  (void)asha.reported(2, 1, 7);
  (void)asha.reported(3, 1, 8);
  EXPECT_EQ(asha.promotable(), 1);
}

TEST(Asha, APausedTrialThatStillReportsChangesNothing) {
  Asha asha(halving(), Type::kPromotion);
  EXPECT_EQ(asha.reported(0, 1, 5), Verdict::kPause);
  EXPECT_EQ(asha.reported(0, 2, 1), Verdict::kPause);
  EXPECT_EQ(asha.reported(1, 1, 6), Verdict::kPause);
  asha.promoted(0);
  EXPECT_EQ(asha.reported(0, 2, 1), Verdict::kPause);  // It comes to the second rung only now.
}

TEST(Asha, AReportBetweenRungsIsNotJudged) {
  Asha asha(halving(16), Type::kPromotion);
  (void)asha.reported(0, 1, 5);
  EXPECT_EQ(asha.reported(1, 1, 4), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(1, 1, 9), Verdict::kGoOn);
}

TEST(Asha, AJumpCountsForEachRungAndIsJudgedAtTheHighest) {
  Asha asha(halving(), Type::kPromotion);
  EXPECT_EQ(asha.reported(0, 5, 3), Verdict::kPause);  // Enters the rungs at 1, 2 and 4.
  EXPECT_EQ(asha.reported(1, 1, 1), Verdict::kGoOn);   // The better one of two.
  EXPECT_EQ(asha.reported(1, 2, 4), Verdict::kPause);  // The worse one of two; 0 is ahead.
  EXPECT_EQ(asha.promotable(), std::nullopt);
  EXPECT_EQ(asha.reported(2, 7, 2), Verdict::kGoOn);  // The better one at rung 4.
}

TEST(Asha, WhoIsAtTheEndIsNeverPaused) {
  Asha asha(halving(), Type::kPromotion);
  EXPECT_EQ(asha.reported(0, 8, 100), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(1, 9, 200), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(2, 1, 1), Verdict::kGoOn);  // They are entries of the rungs they passed.
  Asha stopping(halving(), Type::kStopping);
  for (std::int64_t trial = 0; trial < 4; ++trial) {
    EXPECT_EQ(stopping.reported(trial, 8, static_cast<double>(trial)), Verdict::kGoOn);
  }
}

TEST(Asha, WithoutAnEndRungsGoOn) {
  Asha asha(halving(0), Type::kPromotion);
  EXPECT_EQ(asha.next_step(0, 1'000'000), 1 << 20);
  EXPECT_EQ(asha.reported(0, 1 << 20, 1), Verdict::kPause);
}

// ---- stopping ----------------------------------------------------------------------------------

TEST(Asha, StoppingLetsTheBestOfTheFirstPass) {
  Asha asha({.min_step = 1, .max_step = 64, .eta = 4}, Type::kStopping);
  EXPECT_EQ(asha.reported(0, 1, 20), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(1, 1, 30), Verdict::kStop);
  EXPECT_EQ(asha.reported(2, 1, 10), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(3, 1, 11), Verdict::kStop);
  EXPECT_EQ(asha.reported(4, 1, 9), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(5, 1, 9), Verdict::kGoOn) << "as good";
  EXPECT_EQ(asha.reported(6, 1, 40), Verdict::kStop);
  EXPECT_EQ(asha.reported(7, 1, 9.5), Verdict::kStop);  // The third of 8, of which 2 are best.
  EXPECT_EQ(asha.reported(8, 1, 8), Verdict::kGoOn);
}

// One of two goes on; a better third does too, although one of three is among the best.
TEST(Asha, ABetterOneThatComesLateGoesOnToo) {
  Asha asha(halving(), Type::kPromotion);
  EXPECT_EQ(asha.reported(0, 1, 5), Verdict::kPause);
  EXPECT_EQ(asha.reported(1, 1, 4), Verdict::kGoOn);
  EXPECT_EQ(asha.reported(2, 1, 3), Verdict::kGoOn);
}

TEST(Asha, StoppingNeverPauses) {
  Asha asha(halving(), Type::kStopping);
  (void)asha.reported(0, 1, 1);
  EXPECT_EQ(asha.reported(1, 1, 2), Verdict::kStop);
  EXPECT_EQ(asha.reported(1, 2, 0), Verdict::kStop);  // While it ends.
  (void)asha.reported(2, 1, 3);
  (void)asha.reported(3, 1, 4);
  EXPECT_EQ(asha.promotable(), std::nullopt);
}

TEST(Asha, TheLeaderIsTheFurthestOfThePausedWhateverItsRungHolds) {
  Asha asha({.min_step = 1, .max_step = 16, .eta = 4}, Type::kPromotion);
  EXPECT_EQ(asha.leader(), std::nullopt);
  (void)asha.reported(0, 1, 3);
  (void)asha.reported(1, 1, 2);
  EXPECT_EQ(asha.promotable(), std::nullopt);
  EXPECT_EQ(asha.leader(), 1);
  asha.promoted(1);
  EXPECT_EQ(asha.leader(), 0);
  EXPECT_EQ(asha.reported(1, 4, 9), Verdict::kPause);
  EXPECT_EQ(asha.leader(), 1) << "further, though worse";
  asha.ended(1);
  EXPECT_EQ(asha.leader(), 0);
}

// Found by a newcomer: whichever of equal trials came first was the only one to go on.
TEST(Asha, EqualsGoOn) {
  const model::PrunerSpec spec{.min_step = 1, .max_step = 4, .eta = 4};
  Asha stopping(spec, Type::kStopping);
  for (std::int64_t trial = 0; trial < 8; ++trial) {
    EXPECT_EQ(stopping.reported(trial, 1, 0.9), Verdict::kGoOn) << trial;
  }
  EXPECT_EQ(stopping.reported(8, 1, 1), Verdict::kStop);
  Asha promotion(spec, Type::kPromotion);
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    EXPECT_EQ(promotion.reported(trial, 1, 0.9), Verdict::kPause) << trial;
  }
  EXPECT_EQ(promotion.reported(3, 1, 0.9), Verdict::kGoOn);
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    EXPECT_EQ(promotion.promotable(), trial);
    promotion.promoted(trial);
  }
  EXPECT_EQ(promotion.promotable(), std::nullopt);
}

// In a log of an earlier build equals were paused, and promoted later.
TEST(Asha, APromotionOfWhoWentOnChangesNothing) {
  Asha asha(halving(), Type::kPromotion);
  (void)asha.reported(0, 1, 1);
  EXPECT_EQ(asha.reported(1, 1, 1), Verdict::kGoOn);
  asha.promoted(1);
  EXPECT_EQ(asha.reported(1, 2, 1), Verdict::kPause);
}

TEST(AshaDeathTest, BrokenContracts) {
  Asha asha(halving(), Type::kPromotion);
  (void)asha.reported(0, 1, 1);
  (void)asha.reported(1, 1, 0);
  (void)asha.reported(3, 1, 5);
  asha.ended(3);
  EXPECT_DEATH(asha.promoted(9), "never reported");
  EXPECT_DEATH(asha.promoted(3), "after its end");
  EXPECT_DEATH((void)asha.reported(3, 2, 1), "reported after its end");
  EXPECT_DEATH((void)asha.reported(4, 1, std::numeric_limits<double>::quiet_NaN()), "no number");
  EXPECT_DEATH(Asha(halving(), Type::kStopping, 4), "after the last rung");
}

}  // namespace
}  // namespace runnel::search
