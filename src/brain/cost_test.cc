// What steps cost: seconds on their nodes at the nodes' prices.
#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/explain.h"
#include "brain/testing/desk.h"

namespace runnel::brain {
namespace {

using testing::Desk;
using testing::step;

void join_priced(Desk& desk, const std::string& name, bool spot) {
  model::NodeJoin input;
  input.node.id = NodeId(name);
  input.node.capacity.milli_cpus = 2'000;
  input.node.capacity.memory = Bytes::gibi(8);
  input.node.price = Money::micros(96'000);
  input.node.spot_price = Money::micros(36'000);
  input.node.spot = spot;
  input.incarnation = Incarnation("1");
  desk.decide(input);
}

const Step& only_step(const Desk& desk, const JobId& job) {
  return step_of(desk.brain.state(), job, StepIndex(0));
}

// Two tasks of one core each on a node of two: half of its price, twice, for 90 and 45 s:
// 0.096 / 2 * (90 + 45) / 3600 = 0.0018.
TEST(Cost, OfTwoTasksByHand) {
  Desk desk;
  join_priced(desk, "a", false);
  const JobId job = desk.submit({step("two", 2)});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.running("a", Desk::ref(job, 0, 1));
  desk.pass(Duration::seconds(45));
  desk.ended("a", Desk::ref(job, 0, 0));
  desk.pass(Duration::seconds(45));
  EXPECT_EQ(dollars(spent_by(only_step(desk, job), desk.now).paid), "0.001800") << "so far";
  desk.ended("a", Desk::ref(job, 0, 1));
  desk.pass(Duration::hours(1));
  EXPECT_EQ(dollars(spent_by(only_step(desk, job), desk.now).paid), "0.001800");
  EXPECT_EQ(only_step(desk, job).rate, model::Rate());
}

TEST(Cost, OfASpotNodeAndWhatItSaved) {
  Desk desk;
  join_priced(desk, "a", true);
  auto cheap = step("one");
  cheap.resources.milli_cpus = 2'000;
  cheap.spot = true;
  const JobId job = desk.submit({cheap});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.pass(Duration::minutes(30));
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_EQ(dollars(only_step(desk, job).spent.paid), "0.018000");
  EXPECT_EQ(dollars(only_step(desk, job).spent.list), "0.048000");
}

TEST(Cost, ASnapshotGoesOnCounting) {
  Desk desk;
  join_priced(desk, "a", false);
  const JobId job = desk.submit({step("one")});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.pass(Duration::seconds(30));
  const State again = MUST(decode_state(encode_state(desk.brain.state())));
  const Step& step = step_of(again, job, StepIndex(0));
  EXPECT_EQ(step.rate, only_step(desk, job).rate);
  EXPECT_EQ(spent_by(step, desk.now), spent_by(only_step(desk, job), desk.now));
}

TEST(Spot, NodesAreForThoseWhoSaidSo) {
  Desk desk;
  const JobId wary = desk.submit({step("wary")});
  join_priced(desk, "spot", true);
  EXPECT_TRUE(desk.brain.state().lanes.empty());
  const auto waits = desk.brain.explain(wary, desk.now);
  EXPECT_EQ(waits->at(0).remedy, "resources: {spot: true}, if it can bear to be moved");
  desk.submit({step("late")});
  ASSERT_TRUE(desk.last_refusal.has_value());
  EXPECT_EQ(desk.last_refusal->field, "steps.late.resources.spot");
  join_priced(desk, "lasting", false);
  EXPECT_EQ(desk.brain.state().lanes.begin()->second.places()[0].node, NodeId("lasting"));
  auto bold = step("bold");
  bold.spot = true;
  desk.submit({bold});
  EXPECT_EQ(desk.brain.state().lanes.rbegin()->second.places()[0].node, NodeId("spot"));
}

}  // namespace
}  // namespace runnel::brain
