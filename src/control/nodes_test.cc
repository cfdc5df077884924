#include "control/nodes.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/testing/home.h"

namespace runnel::control {
namespace {

using testing::Home;

const NodeId kNode("m");
const Incarnation kLife("1");

class KeptOrders final : public NodeLink {
 public:
  void send(model::NodeOrders orders) override { all.push_back(std::move(orders)); }
  std::vector<model::NodeOrders> all;
};

Async<void> hear_at_once(Nodes& nodes, std::vector<node::Up> messages) {
  for (node::Up& message : messages) nodes.hear(std::move(message));
  co_return {};
}

class NodesTest : public ::testing::Test {
 protected:
  ~NodesTest() override { EXPECT_TRUE(home_.wait(gate_.close()).ok()); }
  void open(std::optional<Duration> lease = std::nullopt) {
    home_.options.node_lease = lease;
    home_.open();
    home_.control().nodes().attach(kNode, link_);
  }
  void hear(std::vector<node::Up> messages) {
    EXPECT_TRUE(home_.wait(hear_at_once(home_.control().nodes(), std::move(messages))).ok());
  }
  node::Up message(std::int64_t up, decltype(node::Up::what) what) {
    const node::Stamp stamp{node::UpSequence(up), kLife, home_.writer().epoch(), 0};
    return {kNode, stamp, std::move(what)};
  }
  static node::Inventory inventory() {
    node::Inventory inventory;
    inventory.node.id = kNode;
    inventory.node.capacity.milli_cpus = 4'000;
    return inventory;
  }
  bool is_up() {
    const auto& nodes = home_.control().state().nodes;
    return nodes.contains(kNode) && nodes.at(kNode).up;
  }
  // The node's lease is over, and its loss has met a full disk.
  void lose_without_room() {
    home_.watch.full = true;
    home_.clock.advance(kLease + Duration::millis(1));
    home_.until([&] { return home_.watch.refused > 0; });
  }
  // The node's loss waits behind an input that has all that may wait for the disk, until
  // `meanwhile` is over.
  void lose_behind_another(const std::function<void()>& meanwhile) {
    open(kLease);
    hear({message(1, inventory())});
    home_.until([&] { return is_up(); });
    testing::Turnstile log(home_);
    MUST(home_.loop->spawn(gate_, declare()));
    home_.clock.advance(kLease + Duration::millis(1));
    pass(kLook * 2);
    ASSERT_TRUE(is_up());
    meanwhile();
    log.let_one_through();
  }
  // What is decided is counted with its input, and its event twice.
  Async<void> declare() {
    model::NodeInfo changed = inventory().node;
    const auto bytes = static_cast<std::size_t>(LogWriter::kPendingBytesMax / 3);
    changed.capacity.accelerators[std::string(bytes, 'x')] = 1;
    CO_TRY(co_await home_.writer().decide(model::NodesDeclared{{changed}}));
    co_return {};
  }
  void pass(Duration real) { EXPECT_TRUE(home_.wait(home_.loop->sleep(real, {})).ok()); }
  void pass_some() { pass(Duration::millis(40)); }

  static constexpr Duration kLease = Duration::millis(60);
  // A look at the leases, and what came meanwhile is read.
  static constexpr Duration kLook = Duration::millis(200);

  KeptOrders link_;
  Home home_;
  async::Gate gate_{*home_.loop};
};

// What was lost may have told of an end: the node has to join anew, though its join is decided
// later than the gap was seen.
TEST_F(NodesTest, ALinkThatIsLostInTheTurnOfItsJoinStaysLost) {
  open();
  hear({message(1, inventory()), message(3, node::Report())});
  home_.until([&] { return is_up(); });
  pass_some();
  ASSERT_EQ(link_.all.size(), 1U);
  EXPECT_TRUE(empty(link_.all[0])) << "it is asked for another inventory";
  hear({message(4, node::Beat())});
  EXPECT_EQ(link_.all.size(), 2U) << "and again, until one comes";
}

TEST_F(NodesTest, ALeaseRunsFromTheStartOfControl) {
  open();
  hear({message(1, inventory())});
  home_.until([&] { return is_up(); });
  ASSERT_TRUE(home_.wait(home_.writer().settled()).ok());
  home_.crash();
  open(kLease);
  pass(kLook);
  EXPECT_TRUE(is_up()) << "it is not over";
  home_.clock.advance(kLease + Duration::millis(1));
  home_.until([&] { return !is_up(); });
}

TEST_F(NodesTest, ANodeThatIsHeardAgainBeforeItsLossIsDecidedStaysUp) {
  open(kLease);
  hear({message(1, inventory())});
  home_.until([&] { return is_up(); });
  lose_without_room();
  hear({message(2, node::Beat())});
  home_.until([&] { return is_up(); });  // No loss is on its way to the disk any more.
  home_.watch.full = false;
  pass(kLook);
  EXPECT_TRUE(is_up());
  home_.clock.advance(kLease + Duration::millis(1));
  home_.until([&] { return !is_up(); });
}

// Control stands still while the loss waits, and wakes with what the node has said unread.
TEST_F(NodesTest, BeforeALossThatHasWaitedIsDecidedWhatCameIsRead) {
  lose_behind_another([this] { home_.clock.advance(Duration::seconds(1)); });
  pass(Duration::millis(1));
  hear({message(2, node::Beat())});
  pass(kLook);
  EXPECT_TRUE(is_up());
}

TEST_F(NodesTest, ALossThatHasWaitedWhileControlRanIsDecided) {
  lose_behind_another([this] {
    home_.clock.advance(Duration::seconds(1));
    pass(kLook);
  });
  home_.until([&] { return !is_up(); });
}

TEST_F(NodesTest, ANodeThatIsBackBeforeItsGoodByeIsDecidedStaysUp) {
  open();
  hear({message(1, inventory())});
  home_.until([&] { return is_up(); });
  hear({message(2, node::GoodBye()), message(3, inventory())});
  pass_some();
  EXPECT_TRUE(is_up());
  hear({message(4, node::GoodBye())});
  home_.until([&] { return !is_up(); });
}

}  // namespace
}  // namespace runnel::control
