#include "brain/reconciler.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using testing::BrainHarness;
using Verb = model::JobRequest::Verb;

constexpr Epoch kEpoch(3);

class OrdersTest : public ::testing::Test {
 protected:
  OrdersTest() : reconciler_(kEpoch, harness_.brain.state()) {}

  const State& state() const { return harness_.brain.state(); }
  std::vector<model::NodeOrders> after_last() { return reconciler_.after(state(), harness_.last); }
  std::vector<model::NodeOrders> after_all() {
    return reconciler_.after(state(), harness_.history);
  }

  BrainHarness harness_;
  Reconciler reconciler_;
};

model::RankReport running(const model::AttemptRef& attempt) {
  model::RankReport rank;
  rank.attempt = attempt;
  return rank;
}

TEST_F(OrdersTest, StartsTasksOnTheNodeOfTheirLane) {
  harness_.join("n1", 2);
  const JobId job = harness_.submit({testing::step("a", 2)});
  const auto orders = after_all();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].epoch, kEpoch);
  EXPECT_EQ(orders[0].node, NodeId("n1"));
  EXPECT_EQ(orders[0].incarnation, Incarnation("1"));
  ASSERT_EQ(orders[0].start.size(), 2U);
  EXPECT_EQ(orders[0].start[0].attempt.task.job, job);
  EXPECT_TRUE(orders[0].stop.empty());
}

TEST_F(OrdersTest, SendsEachPlaceOfAGangItsOwnRanks) {
  harness_.join("n1", 1);
  harness_.join("n2", 1);
  model::StepSpec gang = testing::step("gang");
  gang.num_nodes = 2;
  harness_.submit({gang});
  const auto orders = after_all();
  ASSERT_EQ(orders.size(), 2U);
  ASSERT_EQ(orders[0].start.size(), 1U);
  ASSERT_EQ(orders[1].start.size(), 1U);
  EXPECT_EQ(orders[0].start[0].first_rank + orders[1].start[0].first_rank, 1);
  EXPECT_EQ(orders[0].start[0].world_size, 2);
}

TEST_F(OrdersTest, StopsBothPlacesOfACancelledGang) {
  harness_.join("n1", 1);
  harness_.join("n2", 1);
  model::StepSpec gang = testing::step("gang");
  gang.num_nodes = 2;
  const JobId job = harness_.submit({gang});
  after_all();
  harness_.request(job, Verb::kCancel);
  const auto orders = after_last();
  ASSERT_EQ(orders.size(), 2U);
  for (const model::NodeOrders& node : orders) {
    ASSERT_EQ(node.stop.size(), 1U);
    EXPECT_EQ(node.stop[0].reason, model::StopReason::kCancelled);
  }
}

TEST_F(OrdersTest, StopsForTheReasonThatIsDurableAndNotForALaterOne) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  after_all();
  harness_.request(job, Verb::kHalt);
  const std::vector<model::Event> durable = harness_.last;
  harness_.request(job, Verb::kCancel);  // Decided; the disk may still refuse it.
  const auto orders = reconciler_.after(state(), durable);
  ASSERT_EQ(orders.size(), 1U);
  ASSERT_EQ(orders[0].stop.size(), 1U);
  EXPECT_EQ(orders[0].stop[0].reason, model::StopReason::kHalted);
}

TEST_F(OrdersTest, StopsNothingOfAJobThatWasDeletedSince) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  after_all();
  harness_.request(job, Verb::kCancel);
  const std::vector<model::Event> durable = harness_.last;
  harness_.ended("n1", BrainHarness::ref(job, 0, 0));
  harness_.request(job, Verb::kDelete);
  EXPECT_TRUE(reconciler_.after(state(), durable).empty());
}

TEST_F(OrdersTest, ForgetsAnAttemptWhoseLaneClosedWithIt) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  after_all();
  const model::AttemptRef attempt = BrainHarness::ref(job, 0, 0);
  harness_.ended("n1", attempt);
  const auto orders = after_last();
  ASSERT_EQ(orders.size(), 1U);
  ASSERT_EQ(orders[0].forget.size(), 1U);
  EXPECT_EQ(orders[0].forget[0], attempt);
}

TEST_F(OrdersTest, OrdersNothingThatEndedInTheSameCommit) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  harness_.ended("n1", BrainHarness::ref(job, 0, 0));
  const auto orders = after_all();  // All of it became durable together.
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(orders[0].start.empty());
}

TEST_F(OrdersTest, SendsNothingToANodeThatIsDown) {
  harness_.join("n1", 1);
  harness_.submit({testing::step("a")});
  harness_.lose("n1");
  EXPECT_TRUE(after_all().empty());
}

TEST_F(OrdersTest, RemovesTheFoldersOfADeletedJobEverywhere) {
  harness_.join("n1", 1);
  harness_.join("n2", 1);
  const JobId job = harness_.submit({testing::step("a")});
  harness_.ended("n1", BrainHarness::ref(job, 0, 0));
  harness_.ended("n2", BrainHarness::ref(job, 0, 0));
  after_all();
  harness_.request(job, Verb::kDelete);
  const auto orders = after_last();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].remove, std::vector<JobId>{job});
}

TEST_F(OrdersTest, GoesOnFromAStateAfterARestart) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  Reconciler fresh(kEpoch, state());
  harness_.ended("n1", BrainHarness::ref(job, 0, 0));
  const auto orders = fresh.after(state(), harness_.last);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].forget.size(), 1U);
}

TEST_F(OrdersTest, GivesAJoiningNodeTheDifference) {
  harness_.join("n1", 3);
  const JobId job = harness_.submit({testing::step("a", 3)});
  const model::AttemptRef unknown = BrainHarness::ref(JobId("gone"), 0, 1);
  model::RankReport over = running(BrainHarness::ref(JobId("gone"), 0, 2));
  over.ended = true;
  const std::vector<model::RankReport> inventory = {running(BrainHarness::ref(job, 0, 0)),
                                                    running(unknown), over};
  const model::NodeOrders orders = reconciler_.on_join(state(), NodeId("n1"), inventory);
  ASSERT_EQ(orders.start.size(), 2U);  // The third runs there already.
  ASSERT_EQ(orders.stop.size(), 1U);
  EXPECT_EQ(orders.stop[0].attempt, unknown);
  EXPECT_EQ(orders.stop[0].grace, kUnwantedGrace);
  ASSERT_EQ(orders.forget.size(), 1U);
  EXPECT_EQ(orders.forget[0], over.attempt);
}

TEST_F(OrdersTest, RepeatsAStopToANodeThatJoins) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  harness_.running("n1", BrainHarness::ref(job, 0, 0));
  harness_.request(job, Verb::kCancel);
  const std::vector<model::RankReport> inventory = {running(BrainHarness::ref(job, 0, 0))};
  const model::NodeOrders orders = reconciler_.on_join(state(), NodeId("n1"), inventory);
  EXPECT_TRUE(orders.start.empty());
  ASSERT_EQ(orders.stop.size(), 1U);
  EXPECT_EQ(orders.stop[0].reason, model::StopReason::kCancelled);
}

TEST_F(OrdersTest, TellsEverythingToANodeItKnowsNothingOf) {
  harness_.join("n1", 2);
  harness_.submit({testing::step("a", 2)});
  EXPECT_EQ(reconciler_.everything(state(), NodeId("n1")).start.size(), 2U);
  EXPECT_TRUE(empty(reconciler_.everything(state(), NodeId("other"))));
}

TEST_F(OrdersTest, KnowsWhichReportedEndsAreOld) {
  harness_.join("n1", 1);
  const JobId job = harness_.submit({testing::step("a")});
  const model::AttemptRef live = BrainHarness::ref(job, 0, 0);
  model::RankReport now = running(live);
  now.ended = true;
  model::RankReport old = now;
  old.attempt.attempt = AttemptNumber(7);
  const std::vector<model::RankReport> ranks = {now, old, running(old.attempt)};
  const auto unknown = ended_unknown(state(), ranks);
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0], old.attempt);
}

}  // namespace
}  // namespace runnel::brain
