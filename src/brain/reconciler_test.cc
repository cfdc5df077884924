#include "brain/reconciler.h"

#include <gtest/gtest.h>

#include "brain/testing/desk.h"

namespace runnel::brain {
namespace {

using testing::Desk;
using Verb = model::JobRequest::Verb;

constexpr Epoch kEpoch(3);

class OrdersTest : public ::testing::Test {
 protected:
  OrdersTest() : reconciler_(kEpoch, desk_.brain.state()) {}

  const State& state() const { return desk_.brain.state(); }
  std::vector<model::NodeOrders> after_last() { return reconciler_.after(state(), desk_.last); }
  std::vector<model::NodeOrders> after_all() { return reconciler_.after(state(), desk_.history); }

  Desk desk_;
  Reconciler reconciler_;
};

model::RankReport running(const model::AttemptRef& attempt) {
  model::RankReport rank;
  rank.attempt = attempt;
  return rank;
}

TEST_F(OrdersTest, StartsTasksOnTheNodeOfTheirLane) {
  desk_.join("n1", 2);
  const JobId job = desk_.submit({testing::step("a", 2)});
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
  desk_.join("n1", 1);
  desk_.join("n2", 1);
  model::StepSpec gang = testing::step("gang");
  gang.num_nodes = 2;
  desk_.submit({gang});
  const auto orders = after_all();
  ASSERT_EQ(orders.size(), 2U);
  ASSERT_EQ(orders[0].start.size(), 1U);
  ASSERT_EQ(orders[1].start.size(), 1U);
  EXPECT_EQ(orders[0].start[0].first_rank + orders[1].start[0].first_rank, 1);
  EXPECT_EQ(orders[0].start[0].world_size, 2);
}

TEST_F(OrdersTest, StopsBothPlacesOfACancelledGang) {
  desk_.join("n1", 1);
  desk_.join("n2", 1);
  model::StepSpec gang = testing::step("gang");
  gang.num_nodes = 2;
  const JobId job = desk_.submit({gang});
  after_all();
  desk_.request(job, Verb::kCancel);
  const auto orders = after_last();
  ASSERT_EQ(orders.size(), 2U);
  for (const model::NodeOrders& node : orders) {
    ASSERT_EQ(node.stop.size(), 1U);
    EXPECT_EQ(node.stop[0].reason, model::StopReason::kCancelled);
  }
}

TEST_F(OrdersTest, StopsForTheReasonThatIsDurableAndNotForALaterOne) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  after_all();
  desk_.request(job, Verb::kHalt);
  const std::vector<model::Event> durable = desk_.last;
  desk_.request(job, Verb::kCancel);  // Decided; the disk may still refuse it.
  const auto orders = reconciler_.after(state(), durable);
  ASSERT_EQ(orders.size(), 1U);
  ASSERT_EQ(orders[0].stop.size(), 1U);
  EXPECT_EQ(orders[0].stop[0].reason, model::StopReason::kHalted);
}

TEST_F(OrdersTest, StopsNothingOfAJobThatWasDeletedSince) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  after_all();
  desk_.request(job, Verb::kCancel);
  const std::vector<model::Event> durable = desk_.last;
  desk_.ended("n1", Desk::ref(job, 0, 0));
  desk_.request(job, Verb::kDelete);
  EXPECT_TRUE(reconciler_.after(state(), durable).empty());
}

TEST_F(OrdersTest, ForgetsAnAttemptWhoseLaneClosedWithIt) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  after_all();
  const model::AttemptRef attempt = Desk::ref(job, 0, 0);
  desk_.ended("n1", attempt);
  const auto orders = after_last();
  ASSERT_EQ(orders.size(), 1U);
  ASSERT_EQ(orders[0].forget.size(), 1U);
  EXPECT_EQ(orders[0].forget[0], attempt);
}

TEST_F(OrdersTest, OrdersNothingThatEndedInTheSameCommit) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  desk_.ended("n1", Desk::ref(job, 0, 0));
  const auto orders = after_all();  // All of it became durable together.
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(orders[0].start.empty());
}

TEST_F(OrdersTest, SendsNothingToANodeThatIsDown) {
  desk_.join("n1", 1);
  desk_.submit({testing::step("a")});
  desk_.lose("n1");
  EXPECT_TRUE(after_all().empty());
}

TEST_F(OrdersTest, RemovesTheFoldersOfADeletedJobEverywhere) {
  desk_.join("n1", 1);
  desk_.join("n2", 1);
  const JobId job = desk_.submit({testing::step("a")});
  desk_.ended("n1", Desk::ref(job, 0, 0));
  desk_.ended("n2", Desk::ref(job, 0, 0));
  after_all();
  desk_.request(job, Verb::kDelete);
  const auto orders = after_last();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].remove, std::vector<JobId>{job});
}

TEST_F(OrdersTest, GoesOnFromAStateAfterARestart) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  Reconciler fresh(kEpoch, state());
  desk_.ended("n1", Desk::ref(job, 0, 0));
  const auto orders = fresh.after(state(), desk_.last);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].forget.size(), 1U);
}

TEST_F(OrdersTest, GivesAJoiningNodeTheDifference) {
  desk_.join("n1", 3);
  const JobId job = desk_.submit({testing::step("a", 3)});
  const model::AttemptRef unknown = Desk::ref(JobId("gone"), 0, 1);
  model::RankReport over = running(Desk::ref(JobId("gone"), 0, 2));
  over.ended = true;
  const std::vector<model::RankReport> inventory = {running(Desk::ref(job, 0, 0)), running(unknown),
                                                    over};
  const model::NodeOrders orders = reconciler_.on_join(state(), NodeId("n1"), inventory);
  ASSERT_EQ(orders.start.size(), 2U);  // The third runs there already.
  ASSERT_EQ(orders.stop.size(), 1U);
  EXPECT_EQ(orders.stop[0].attempt, unknown);
  EXPECT_EQ(orders.stop[0].grace, kUnwantedGrace);
  ASSERT_EQ(orders.forget.size(), 1U);
  EXPECT_EQ(orders.forget[0], over.attempt);
}

TEST_F(OrdersTest, RepeatsAStopToANodeThatJoins) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  desk_.running("n1", Desk::ref(job, 0, 0));
  desk_.request(job, Verb::kCancel);
  const std::vector<model::RankReport> inventory = {running(Desk::ref(job, 0, 0))};
  const model::NodeOrders orders = reconciler_.on_join(state(), NodeId("n1"), inventory);
  EXPECT_TRUE(orders.start.empty());
  ASSERT_EQ(orders.stop.size(), 1U);
  EXPECT_EQ(orders.stop[0].reason, model::StopReason::kCancelled);
}

TEST_F(OrdersTest, TellsEverythingToANodeItKnowsNothingOf) {
  desk_.join("n1", 2);
  desk_.submit({testing::step("a", 2)});
  EXPECT_EQ(reconciler_.everything(state(), NodeId("n1")).start.size(), 2U);
  EXPECT_TRUE(empty(reconciler_.everything(state(), NodeId("other"))));
}

TEST_F(OrdersTest, KnowsWhichReportedEndsAreOld) {
  desk_.join("n1", 1);
  const JobId job = desk_.submit({testing::step("a")});
  const model::AttemptRef live = Desk::ref(job, 0, 0);
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
