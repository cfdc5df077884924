// What steps cost: seconds on their nodes at the nodes' prices.
#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/explain.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using testing::BrainHarness;
using testing::step;

void join_priced(BrainHarness& harness, const std::string& name, bool spot) {
  model::NodeJoin input;
  input.node.id = NodeId(name);
  input.node.capacity.milli_cpus = 2'000;
  input.node.capacity.memory = Bytes::gibi(8);
  input.node.price = Money::micros(96'000);
  input.node.spot_price = Money::micros(36'000);
  input.node.spot = spot;
  input.incarnation = Incarnation("1");
  harness.decide(input);
}

const Step& only_step(const BrainHarness& harness, const JobId& job) {
  return step_of(harness.brain.state(), job, StepIndex(0));
}

// Two tasks of one core each on a node of two: half of its price, twice, for 90 and 45 s:
// 0.096 / 2 * (90 + 45) / 3600 = 0.0018.
TEST(Cost, OfTwoTasksByHand) {
  BrainHarness harness;
  join_priced(harness, "a", false);
  const JobId job = harness.submit({step("two", 2)});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.running("a", BrainHarness::ref(job, 0, 1));
  harness.pass(Duration::seconds(45));
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  harness.pass(Duration::seconds(45));
  EXPECT_EQ(dollars(spent_by(only_step(harness, job), harness.now).paid), "0.001800") << "so far";
  harness.ended("a", BrainHarness::ref(job, 0, 1));
  harness.pass(Duration::hours(1));
  EXPECT_EQ(dollars(spent_by(only_step(harness, job), harness.now).paid), "0.001800");
  EXPECT_EQ(only_step(harness, job).rate, model::Rate());
}

TEST(Cost, OfASpotNodeAndWhatItSaved) {
  BrainHarness harness;
  join_priced(harness, "a", true);
  auto cheap = step("one");
  cheap.resources.milli_cpus = 2'000;
  cheap.spot = true;
  const JobId job = harness.submit({cheap});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.pass(Duration::minutes(30));
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_EQ(dollars(only_step(harness, job).spent.paid), "0.018000");
  EXPECT_EQ(dollars(only_step(harness, job).spent.list), "0.048000");
}

TEST(Cost, ASnapshotGoesOnCounting) {
  BrainHarness harness;
  join_priced(harness, "a", false);
  const JobId job = harness.submit({step("one")});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.pass(Duration::seconds(30));
  const State again = MUST(decode_state(encode_state(harness.brain.state())));
  const Step& step = step_of(again, job, StepIndex(0));
  EXPECT_EQ(step.rate, only_step(harness, job).rate);
  EXPECT_EQ(spent_by(step, harness.now), spent_by(only_step(harness, job), harness.now));
}

TEST(Spot, NodesAreForThoseWhoSaidSo) {
  BrainHarness harness;
  const JobId wary = harness.submit({step("wary")});
  join_priced(harness, "spot", true);
  EXPECT_TRUE(harness.brain.state().lanes.empty());
  const auto waits = harness.brain.explain(wary, harness.now);
  EXPECT_EQ(waits->at(0).remedy, "resources: {spot: true}, if it can bear to be moved");
  harness.submit({step("late")});
  ASSERT_TRUE(harness.last_refusal.has_value());
  EXPECT_EQ(harness.last_refusal->field, "steps.late.resources.spot");
  join_priced(harness, "lasting", false);
  EXPECT_EQ(harness.brain.state().lanes.begin()->second.places()[0].node, NodeId("lasting"));
  auto bold = step("bold");
  bold.spot = true;
  harness.submit({bold});
  EXPECT_EQ(harness.brain.state().lanes.rbegin()->second.places()[0].node, NodeId("spot"));
}

}  // namespace
}  // namespace runnel::brain
