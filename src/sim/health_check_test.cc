#include "sim/health_check.h"

#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace runnel::sim {
namespace {

using model::HealthAction;
using model::Status;

// The checker must be able to fail.
class HealthCheckTest : public ::testing::Test {
 protected:
  HealthCheckTest() {
    spec_.num_nodes = 3;
    spec_.health.hang = model::HangPolicy{Duration::seconds(1), HealthAction::kRestart};
  }
  model::TaskWarned warned() const {
    return {attempt_, 1, model::HealthProblem::kHung, "", {}, HealthAction::kRestart};
  }
  model::AttemptEnded ended() const {
    model::AttemptEnded event;
    event.attempt = attempt_;
    event.to = Status::kFailed;
    event.task = Status::kRecovering;
    event.reason = "RankHung";
    event.first_failed = 1;
    event.charged = true;
    return event;
  }
  void judge() {
    EXPECT_EQ(check_.on(warned(), spec_), "");
    EXPECT_EQ(check_.on(model::AttemptStopping{attempt_, LaneId(1), Status::kFailed, ""}), "");
  }

  const model::AttemptRef attempt_{{JobId("j"), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
  model::StepSpec spec_;
  HealthCheck check_;
};

TEST_F(HealthCheckTest, MissesNoSecondWarning) {
  EXPECT_EQ(check_.on(warned(), spec_), "");
  EXPECT_NE(check_.on(warned(), spec_), "");
}

TEST_F(HealthCheckTest, MissesNoOtherPolicy) {
  model::TaskWarned event = warned();
  event.action = HealthAction::kKill;
  EXPECT_NE(check_.on(event, spec_), "");
  event = warned();
  event.reason = model::HealthProblem::kSlow;
  EXPECT_NE(HealthCheck().on(event, spec_), "") << "nobody wants to know";
  event = warned();
  event.rank = 3;
  EXPECT_NE(HealthCheck().on(event, spec_), "");
}

TEST_F(HealthCheckTest, MissesNoAccusationOfWhatEnds) {
  EXPECT_EQ(check_.on(model::AttemptStopping{attempt_, LaneId(1), Status::kPaused, ""}), "");
  EXPECT_NE(check_.on(warned(), spec_), "");
}

TEST_F(HealthCheckTest, MissesNoEndAgainstThePolicy) {
  judge();
  ASSERT_EQ(check_.verdict_on(ended()), HealthAction::kRestart);
  EXPECT_EQ(check_.check_end(ended(), HealthAction::kRestart, true), "");
  EXPECT_NE(check_.check_end(ended(), HealthAction::kRestart, false), "") << "no budget is left";
  EXPECT_NE(check_.check_end(ended(), HealthAction::kKill, true), "") << "for good";
  for (const int change : {0, 1, 2}) {
    model::AttemptEnded event = ended();
    if (change == 0) event.first_failed = 2;
    if (change == 1) event.reason = "Signalled";
    if (change == 2) event.task = Status::kFailed;
    EXPECT_NE(check_.check_end(event, HealthAction::kRestart, true), "") << change;
  }
}

TEST_F(HealthCheckTest, AUsersWishAndAGoodEndGoFirst) {
  judge();
  model::AttemptEnded event = ended();
  event.to = Status::kSucceeded;
  EXPECT_FALSE(check_.verdict_on(event).has_value());
  EXPECT_EQ(check_.on(model::AttemptStopping{attempt_, LaneId(1), Status::kCancelled, ""}), "");
  EXPECT_FALSE(check_.verdict_on(ended()).has_value());
}

TEST(Scenario, ThereAreStepsThatLookAtTheirRanks) {
  std::int64_t watched = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const auto& job : scenario_of(seed).jobs) {
      for (const model::StepSpec& step : job->steps) watched += step.health.any() ? 1 : 0;
    }
  }
  EXPECT_GT(watched, 50);
}

}  // namespace
}  // namespace runnel::sim
