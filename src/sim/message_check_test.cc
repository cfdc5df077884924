#include "sim/message_check.h"

#include <gtest/gtest.h>

namespace runnel::sim {
namespace {

node::Up inventory(std::int64_t up, std::int64_t taken, bool crashed_idle = false) {
  node::Inventory inventory;
  inventory.node.id = NodeId("n1");
  inventory.crashed_idle = crashed_idle;
  return {NodeId("n1"), {node::UpSequence(up), Incarnation("n1.1"), Epoch(1), taken}, inventory};
}

node::Up beat(std::int64_t up) {
  return {NodeId("n1"), {node::UpSequence(up), Incarnation("n1.1"), Epoch(1), 0}, node::Beat{}};
}

model::NodeOrders orders(std::int64_t sequence) {
  model::NodeOrders orders;
  orders.epoch = Epoch(1);
  orders.node = NodeId("n1");
  orders.sequence = sequence;
  return orders;
}

model::NodeJoin join(bool crashed_idle) {
  model::NodeJoin join;
  join.node.id = NodeId("n1");
  join.incarnation = Incarnation("n1.1");
  join.crashed_idle = crashed_idle;
  return join;
}

class MessageCheckTest : public ::testing::Test {
 protected:
  void hears(const node::Up& message) {
    now_ = now_ + Duration::millis(1);
    check_.hears(message, now_);
  }
  std::string answers(const node::Up& message, std::int64_t sequence) {
    hears(message);
    std::string broken = check_.sends(orders(sequence));
    check_.heard();
    return broken;
  }
  std::string joins(bool crashed_idle, Duration later = Duration::millis(1)) {
    return check_.joins(join(crashed_idle), now_ + later);
  }
  MessageCheck check_;
  Time now_ = Time::from_millis(1'000);
};

TEST_F(MessageCheckTest, MissesNoOrdersForANodeOfWhichAMessageIsMissing) {
  const auto sends_some = [this](std::int64_t sequence) {
    model::NodeOrders some = orders(sequence);
    some.stop.emplace_back();
    return check_.sends(some);
  };
  hears(beat(1));
  EXPECT_EQ(sends_some(1), "");
  hears(beat(3));
  EXPECT_EQ(check_.sends(orders(2)), "") << "it is asked";
  hears(inventory(4, 1));
  EXPECT_NE(sends_some(3), "") << "that was made before the question";
  hears(inventory(5, 3));
  EXPECT_EQ(sends_some(4), "") << "an inventory says all that the message said";
  hears(beat(7));
  EXPECT_NE(sends_some(5), "") << "a later one is missing";
}

TEST_F(MessageCheckTest, MissesNoOrderThatWasNotSent) {
  const auto attempt = [](std::int32_t number) {
    model::AttemptRef ref;
    ref.attempt = AttemptNumber(number);
    return ref;
  };
  model::NodeOrders some = orders(1);
  some.start.resize(1);
  some.start[0].attempt = attempt(1);
  EXPECT_NE(check_.lacks(some), "");
  EXPECT_EQ(check_.sends(some), "");
  EXPECT_EQ(check_.lacks(some), "");
  some.watch.push_back({attempt(1)});
  EXPECT_NE(check_.lacks(some), "") << "it runs, and nobody looks at its health";
  EXPECT_EQ(check_.sends(some), "");
  some.stop.push_back({attempt(1)});
  EXPECT_NE(check_.lacks(some), "");
  EXPECT_EQ(check_.sends(some), "");
  EXPECT_EQ(check_.lacks(some), "");
  node::Up told = inventory(1, 1);
  std::get<node::Inventory>(told.what).has.ranks.resize(1);
  std::get<node::Inventory>(told.what).has.ranks[0].attempt = attempt(2);
  model::NodeOrders other = orders(2);
  other.start.resize(1);
  other.start[0].attempt = attempt(2);
  EXPECT_NE(check_.lacks(other), "");
  hears(told);
  EXPECT_EQ(check_.lacks(other), "") << "the node has it";
  EXPECT_NE(check_.lacks(some), "") << "what it was sent before was lost";
  check_.restart();
  EXPECT_NE(check_.lacks(other), "") << "another life has told nothing";
}

TEST_F(MessageCheckTest, MissesNoAnswerToAnOldMessage) {
  EXPECT_EQ(answers(beat(3), 1), "");
  EXPECT_NE(answers(beat(3), 2), "");
  EXPECT_NE(answers(beat(2), 3), "");
  EXPECT_EQ(check_.sends(orders(4)), "") << "nobody was heard just then";
  EXPECT_EQ(answers(beat(4), 5), "");
  check_.restart();
  EXPECT_EQ(answers(beat(1), 1), "") << "another life has heard nothing";
}

TEST_F(MessageCheckTest, MissesNoJoinThatDoesNotKnowAllOrders) {
  EXPECT_EQ(answers(inventory(1, 0), 1), "");
  EXPECT_NE(joins(false), "") << "orders of an earlier epoch may be on their way";
  hears(inventory(2, 1));
  EXPECT_EQ(joins(false), "");
  check_.heard();
  EXPECT_EQ(check_.sends(orders(2)), "");
  hears(inventory(3, 1, true));
  EXPECT_NE(joins(true), "");
}

node::Up part(std::int64_t up) {
  node::InventoryPart part;
  part.has.ranks.emplace_back().rank = static_cast<std::int32_t>(up);
  return {NodeId("n1"), {node::UpSequence(up), Incarnation("n1.1"), Epoch(1), 1}, part};
}

TEST_F(MessageCheckTest, MissesNoJoinOfWhichAPartIsMissing) {
  EXPECT_EQ(answers(beat(1), 1), "");
  node::Up last = inventory(4, 1);
  std::get<node::Inventory>(last.what).parts = 2;
  model::NodeJoin whole = join(false);
  whole.ranks = {std::get<node::InventoryPart>(part(2).what).has.ranks[0],
                 std::get<node::InventoryPart>(part(3).what).has.ranks[0]};
  for (const std::int64_t lost : {2, 3, 0}) {
    SCOPED_TRACE(lost);
    check_.restart();
    EXPECT_EQ(answers(beat(1), 1), "");
    if (lost != 2) hears(part(2));
    if (lost != 3) hears(part(3));
    hears(last);
    EXPECT_EQ(check_.joins(whole, now_).empty(), lost == 0);
    model::NodeOrders some = orders(2);
    some.stop.emplace_back();
    EXPECT_EQ(check_.sends(some).empty(), lost == 0);
  }
}

TEST_F(MessageCheckTest, MissesNoJoinByAnOlderInventory) {
  EXPECT_EQ(answers(beat(1), 1), "");
  hears(inventory(2, 1));
  hears(inventory(4, 1, true));
  EXPECT_EQ(joins(true), "");
  EXPECT_EQ(joins(false, Duration()), "") << "decided before control has looked at the newer one";
  EXPECT_NE(joins(false), "");
  hears(inventory(3, 1));
  EXPECT_EQ(joins(true), "") << "it came late";
}

}  // namespace
}  // namespace runnel::sim
