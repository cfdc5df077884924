#include "agent/rank_pace.h"

#include <vector>

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

constexpr std::int64_t kThreeTimes = 3'000;

class RankPacesTest : public ::testing::Test {
 protected:
  // One step of the whole gang, as the ranks measure it.
  void step(std::vector<std::optional<std::int64_t>> micros) {
    ++step_;
    for (std::size_t rank = 0; rank < micros.size(); ++rank) {
      if (!micros[rank]) continue;
      paces_.add(static_cast<std::int32_t>(rank), step_, Micros::count(*micros[rank]), now_);
    }
    now_ = now_ + Duration::millis(100);
  }
  std::optional<RankPaces::Slow> slowest(std::int32_t ranks) const {
    return paces_.slowest(ranks, kThreeTimes);
  }

  RankPaces paces_;
  std::int64_t step_ = 0;
  Duration now_;
};

TEST_F(RankPacesTest, NamesWhoIsSlowInThreeStepsInARow) {
  for (int i = 0; i < 2; ++i) step({1'000, 3'400, 1'100});
  EXPECT_FALSE(slowest(3));
  step({900, 3'300, 1'000});
  const auto slow = slowest(3);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 1);
  EXPECT_EQ(slow->took, Micros::count(3'300));
  EXPECT_EQ(slow->median, Micros::count(1'050)) << "between 1,000 and 1,100";
  EXPECT_EQ(slow->step, 3);
}

TEST_F(RankPacesTest, OneSlowStepAccusesNobody) {
  for (int i = 0; i < 20; ++i) {
    step({1'000, i % 3 == 0 ? 90'000 : 1'000, 1'000});
    EXPECT_FALSE(slowest(3));
  }
}

TEST_F(RankPacesTest, AllSlowAccuseNobody) {
  for (int i = 0; i < 5; ++i) step({9'000, 9'000, 9'100});
  EXPECT_FALSE(slowest(3));
}

TEST_F(RankPacesTest, LostMeasurementsAccuseNobody) {
  for (int i = 0; i < 5; ++i) step({1'000, 9'000, std::nullopt, std::nullopt, std::nullopt});
  EXPECT_FALSE(slowest(5)) << "one of four others is no majority";
  for (int i = 0; i < 3; ++i) step({1'000, 9'000, 1'000, 1'000, std::nullopt});
  EXPECT_TRUE(slowest(5));
  EXPECT_FALSE(RankPaces().slowest(5, kThreeTimes));
}

TEST_F(RankPacesTest, AStepThatIsToldTwiceIsOne) {
  step({1'000, 9'000, 1'000});
  for (int i = 0; i < 5; ++i) paces_.add(1, step_, Micros::count(9'000), now_);
  EXPECT_FALSE(slowest(3));
}

TEST_F(RankPacesTest, OfTwoTheSlowerIsNamed) {
  for (int i = 0; i < 3; ++i) step({3'000, 1'000});
  ASSERT_TRUE(slowest(2));
  EXPECT_EQ(slowest(2)->rank, 0);
}

TEST_F(RankPacesTest, RanksThatAdvanceByThemselvesAreComparedByTheirPace) {
  bool named = false;
  for (std::int64_t second = 0; second < 30; ++second) {
    const Duration now = Duration::seconds(second);
    paces_.add(0, second * 10, std::nullopt, now);
    paces_.add(1, second * 3, std::nullopt, now);
    paces_.add(2, second * 10, std::nullopt, now);
    if (second < 15) EXPECT_FALSE(slowest(3));
    named = named || slowest(3).has_value();
  }
  EXPECT_TRUE(named);
  EXPECT_EQ(slowest(3)->rank, 1);
}

TEST_F(RankPacesTest, RanksInLockStepAccuseNobodyByTheirSteps) {
  for (std::int64_t second = 0; second < 60; ++second) {
    for (const std::int32_t rank : {0, 1, 2}) {
      paces_.add(rank, second, std::nullopt, Duration::seconds(second));
    }
    EXPECT_FALSE(slowest(3));
  }
}

TEST(StepMicros, AreOfNumbersThatCanBeTimes) {
  EXPECT_EQ(step_time("0.25"), Micros::count(250'000));
  EXPECT_EQ(step_time("3"), Micros::count(3'000'000));
  EXPECT_EQ(step_time("1e-9"), Micros::count(1));
  EXPECT_EQ(step_time("1e300"), model::kStepTimeMax);
  for (const char* text : {"nan", "inf", "-1", "0", "", "x", "1s"}) {
    EXPECT_FALSE(step_time(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace runnel::agent
