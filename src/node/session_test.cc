#include "node/session.h"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/split_mix.h"

namespace runnel::node {
namespace {

const Epoch kEpoch(7);
const Duration kLease = Duration::seconds(3);

class NodeSessionTest : public ::testing::Test {
 protected:
  // A message that knows all orders so far, unless told otherwise.
  Up message(decltype(Up::what) what) {
    return {NodeId("n"), {UpSequence(++up_), Incarnation("1"), kEpoch, sent_}, std::move(what)};
  }
  Taking receive(Up message, bool is_member = false) {
    return session_.receive(message, is_member, now_);
  }
  model::NodeOrders orders() {
    model::NodeOrders orders;
    orders.epoch = kEpoch;
    orders.node = NodeId("n");
    orders.forget.emplace_back();
    return orders;
  }
  model::NodeOrders send() {
    model::NodeOrders stamped = session_.stamped(orders());
    sent_ = stamped.sequence;
    return stamped;
  }
  // Joins by the next message; its decision rests on events up to `rests_on`.
  UpSequence join(EventSeq rests_on = EventSeq(1)) {
    EXPECT_EQ(receive(message(Inventory())), Taking::kJoins);
    const UpSequence up(up_);
    session_.join_comes(up);
    EXPECT_TRUE(session_.check_join(up).ok());
    session_.join_decided(up, rests_on, orders());
    return up;
  }

  Duration now_ = Duration::seconds(100);
  NodeSession session_{kEpoch, kLease, now_};
  std::int64_t up_ = 0;
  std::int64_t sent_ = 0;
};

TEST_F(NodeSessionTest, JoinsByAnInventoryAlone) {
  EXPECT_EQ(receive(message(Report())), Taking::kAsks) << "the inventory says all of it";
  EXPECT_EQ(receive(message(Beat())), Taking::kAsks);
  EXPECT_FALSE(session_.is_linked());
  EXPECT_EQ(receive(message(Inventory())), Taking::kJoins);
  EXPECT_FALSE(session_.is_linked()) << "not before its join is durable";
  EXPECT_EQ(receive(message(Report())), Taking::kReports) << "it is joining";
  EXPECT_EQ(receive(message(Inventory())), Taking::kJoins) << "anew";
}

TEST_F(NodeSessionTest, WhoMayHaveLostAMessageJoinsAnew) {
  (void)session_.join_done(join(), true);
  EXPECT_EQ(receive(message(Beat()), true), Taking::kBeats);
  ++up_;  // Lost.
  EXPECT_EQ(receive(message(Beat()), true), Taking::kAsks);
  EXPECT_FALSE(session_.is_linked());
  EXPECT_EQ(receive(message(Report()), true), Taking::kAsks) << "until it has joined";
}

TEST_F(NodeSessionTest, WhoWasGivenUpJoinsAnew) {
  (void)session_.join_done(join(), true);
  EXPECT_EQ(receive(message(Beat()), false), Taking::kAsks);
  EXPECT_FALSE(session_.is_linked());
}

// The node would do what the later inventory does not know, and be taken to have lost it.
TEST_F(NodeSessionTest, ALaterInventoryVoidsTheDifferenceOfAnEarlierOne) {
  const UpSequence first = join(EventSeq(5));
  EXPECT_EQ(receive(message(Inventory())), Taking::kJoins);
  session_.join_comes(UpSequence(up_));
  EXPECT_FALSE(session_.leaves_with(EventSeq(5)));
  EXPECT_FALSE(session_.join_done(first, true));
  EXPECT_FALSE(session_.is_linked());
  session_.join_decided(UpSequence(up_), EventSeq(6), orders());
  EXPECT_TRUE(session_.leaves_with(EventSeq(6)));
  EXPECT_TRUE(session_.is_linked());
}

TEST_F(NodeSessionTest, DropsWhatIsOlderThanWhatWasHeard) {
  const Up late = message(Inventory());
  const Up newer = message(Inventory());
  EXPECT_EQ(receive(newer), Taking::kJoins);
  EXPECT_EQ(receive(newer), Taking::kDropped) << "it came twice";
  EXPECT_EQ(receive(late), Taking::kDropped);
  EXPECT_EQ(receive(message(GoodBye()), true), Taking::kLeaves);
  EXPECT_EQ(receive(late), Taking::kDropped);
  EXPECT_FALSE(session_.is_linked());
}

// An inventory of `parts` and its last message: of one attempt each.
Inventory last_of(std::int64_t parts) {
  Inventory inventory;
  inventory.has.ranks.emplace_back();
  inventory.parts = parts;
  return inventory;
}
InventoryPart part() { return {last_of(0).has, {}}; }

TEST_F(NodeSessionTest, JoinsByAllPartsOfAnInventory) {
  (void)session_.join_done(join(), true);
  EXPECT_EQ(receive(message(part()), true), Taking::kCollects);
  EXPECT_FALSE(session_.is_linked()) << "the inventory will not know what is sent from here on";
  EXPECT_EQ(receive(message(part()), true), Taking::kCollects);
  Up last = message(last_of(2));
  EXPECT_EQ(session_.receive(last, true, now_), Taking::kJoins);
  EXPECT_EQ(news_of(last).ranks.size(), 3U);
  EXPECT_EQ(std::get<Inventory>(last.what).parts, 0) << "it is whole";
  Up next = message(last_of(0));
  EXPECT_EQ(session_.receive(next, true, now_), Taking::kJoins);
  EXPECT_EQ(news_of(next).ranks.size(), 1U) << "nothing of the one before";
}

TEST_F(NodeSessionTest, AsksForAnInventoryOfWhichAPartIsMissing) {
  for (const std::int64_t lost : {1, 2, 3}) {
    SCOPED_TRACE(lost);
    for (std::int64_t each = 1; each <= 3; ++each) {
      if (each == lost)
        ++up_;
      else
        EXPECT_EQ(receive(message(part())), Taking::kCollects);
    }
    EXPECT_EQ(receive(message(last_of(3))), Taking::kAsks);
    sent_ = session_.ask(NodeId("n"), Incarnation("1")).sequence;
  }
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  EXPECT_EQ(receive(message(last_of(1))), Taking::kJoins);
}

TEST_F(NodeSessionTest, PartsOfTwoInventoriesAreNoneOfEither) {
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  ++up_;  // The rest of the first.
  EXPECT_EQ(receive(message(last_of(1))), Taking::kAsks);
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  ++up_;
  Up whole = message(last_of(0));
  EXPECT_EQ(session_.receive(whole, false, now_), Taking::kJoins) << "it has no parts";
  EXPECT_EQ(news_of(whole).ranks.size(), 1U);
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  up_ += 2;  // Its inventory, and the first part of the next.
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  EXPECT_EQ(receive(message(last_of(2))), Taking::kAsks);
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  EXPECT_EQ(receive(message(Beat())), Taking::kAsks);
  EXPECT_EQ(receive(message(last_of(1))), Taking::kAsks) << "the part did not come right before it";
}

TEST_F(NodeSessionTest, PartsAreDroppedWithTheLink) {
  EXPECT_EQ(receive(message(part())), Taking::kCollects);
  session_.lose_link();
  EXPECT_EQ(receive(message(last_of(1))), Taking::kAsks);
}

TEST_F(NodeSessionTest, AnInventoryWithoutAnEndFillsNoMemory) {
  for (std::size_t each = 0; each <= NodeSession::kPartsMax; ++each) {
    EXPECT_EQ(receive(message(part())), Taking::kCollects);
  }
  EXPECT_EQ(receive(message(last_of(NodeSession::kPartsMax + 1))), Taking::kAsks);
}

TEST_F(NodeSessionTest, AsksWhoMayNotKnowAllOrders) {
  (void)session_.join_done(join(), true);
  send();
  session_.lose_link();
  Up behind = message(Inventory());
  behind.stamp.taken = sent_ - 1;
  ASSERT_EQ(receive(behind, true), Taking::kAsks);
  const model::NodeOrders question = session_.ask(NodeId("n"), Incarnation("1"));
  EXPECT_GT(question.sequence, sent_) << "newer than what is on its way";
  EXPECT_EQ(session_.ask(NodeId("n"), Incarnation("1")).sequence, question.sequence);
  EXPECT_EQ(receive(message(Inventory()), true), Taking::kAsks);
  sent_ = question.sequence;
  EXPECT_EQ(receive(message(Inventory()), true), Taking::kJoins);
}

TEST_F(NodeSessionTest, AsksWhoHasOrdersOfAnEarlierEpoch) {
  Up earlier = message(Inventory());
  earlier.stamp.epoch = Epoch(6);
  earlier.stamp.taken = 1'000;
  ASSERT_EQ(receive(earlier), Taking::kAsks);
  sent_ = session_.ask(NodeId("n"), Incarnation("1")).sequence;
  EXPECT_EQ(receive(message(Inventory())), Taking::kJoins);
}

TEST_F(NodeSessionTest, OrdersThatLeaveMeanwhileMoveTheFence) {
  Up behind = message(Inventory());
  behind.stamp.epoch = Epoch(6);
  ASSERT_EQ(receive(behind), Taking::kAsks);
  const std::int64_t asked = session_.ask(NodeId("n"), Incarnation("1")).sequence;
  sent_ = asked;
  (void)session_.join_done(join(), true);
  send();
  session_.lose_link();
  Up answer = message(Inventory());
  answer.stamp.taken = asked;
  EXPECT_EQ(receive(answer), Taking::kAsks);
}

TEST_F(NodeSessionTest, EachLossOfTheLinkHasAQuestionOfItsOwn) {
  const auto ask = [this] { return session_.ask(NodeId("n"), Incarnation("1")); };
  const std::int64_t first = ask().sequence;
  sent_ = first;
  (void)session_.join_done(join(), true);
  session_.lose_link();
  const model::NodeOrders second = ask();
  EXPECT_GT(second.sequence, first) << "the answer to the first may still be on its way";
  EXPECT_EQ(second.node, NodeId("n"));
  EXPECT_EQ(second.epoch, kEpoch);
  EXPECT_EQ(second.incarnation, Incarnation("1"));
  EXPECT_EQ(receive(message(Inventory()), true), Taking::kAsks);
  sent_ = second.sequence;
  EXPECT_EQ(receive(message(Inventory()), true), Taking::kJoins);
}

TEST_F(NodeSessionTest, TheDifferenceLeavesWithItsBatch) {
  const UpSequence up = join(EventSeq(5));
  EXPECT_FALSE(session_.leaves_with(EventSeq(4)));
  EXPECT_TRUE(session_.leaves_with(EventSeq(5)));
  EXPECT_FALSE(session_.leaves_with(EventSeq(6))) << "once";
  EXPECT_FALSE(session_.join_done(up, true));
}

TEST_F(NodeSessionTest, WhatNeedsNoCommitLeavesAtOnce) {
  const UpSequence up = join();
  EXPECT_TRUE(session_.join_done(up, true));
  EXPECT_TRUE(session_.is_linked());
}

// Found by the simulator: a join waited for the disk, and what was rolled back meanwhile was sent
// to the node that its inventory did not know of.
TEST_F(NodeSessionTest, HearsNothingBeforeItsJoinIsDurable) {
  const UpSequence up = join(EventSeq(5));
  EXPECT_FALSE(session_.is_linked());
  session_.roll_back();
  EXPECT_FALSE(session_.is_linked());
  session_.join_decided(up, EventSeq(6), orders());  // Again.
  EXPECT_FALSE(session_.is_linked());
  EXPECT_TRUE(session_.leaves_with(EventSeq(6)));
  EXPECT_TRUE(session_.is_linked());
}

TEST_F(NodeSessionTest, WhatIsLostMeanwhileKeepsTheDifferenceFromLeaving) {
  const UpSequence up = join(EventSeq(5));
  session_.lose_link();
  EXPECT_FALSE(session_.leaves_with(EventSeq(5)));
  EXPECT_FALSE(session_.join_done(up, true));
  EXPECT_FALSE(session_.is_linked());
}

TEST_F(NodeSessionTest, WhatWasRolledBackNeverLeaves) {
  UpSequence up = join();
  session_.roll_back();
  EXPECT_FALSE(session_.leaves_with(EventSeq(9)));
  EXPECT_FALSE(session_.join_done(up, true));
  up = join();
  EXPECT_FALSE(session_.join_done(up, false)) << "it is void";
  EXPECT_FALSE(session_.is_linked()) << "it joins again";
}

TEST_F(NodeSessionTest, OnlyTheNewestJoinThatWaitsCounts) {
  session_.join_comes(UpSequence(3));
  session_.join_comes(UpSequence(5));
  EXPECT_EQ(session_.check_join(UpSequence(3)).error().code, Errc::kPrecondition);
  EXPECT_TRUE(session_.check_join(UpSequence(5)).ok());
  EXPECT_FALSE(session_.join_done(UpSequence(3), false));
  session_.join_decided(UpSequence(5), EventSeq(1), orders());
  EXPECT_TRUE(session_.join_done(UpSequence(5), true)) << "the newer one still counts";
}

TEST_F(NodeSessionTest, AJoinOlderThanWhatWasTakenDoesNotCount) {
  session_.join_comes(UpSequence(3));
  session_.report_done(UpSequence(4));
  EXPECT_EQ(session_.check_join(UpSequence(3)).error().code, Errc::kPrecondition);
}

TEST_F(NodeSessionTest, ReportsWaitForAJoinAndCountAfterIt) {
  const UpSequence up = join();
  EXPECT_TRUE(session_.must_wait());
  EXPECT_TRUE(session_.is_outdated(UpSequence(up.value() - 1)));
  EXPECT_FALSE(session_.is_outdated(UpSequence(up.value() + 1)));
  (void)session_.join_done(up, true);
  EXPECT_FALSE(session_.must_wait());
}

TEST_F(NodeSessionTest, IsLostOnceItsLeaseIsOver) {
  const Duration over = kLease + Duration::millis(1);
  EXPECT_FALSE(session_.is_lost(now_ + kLease));
  EXPECT_TRUE(session_.is_lost(now_ + over)) << "also when nothing was ever heard of it";
  now_ = now_ + over;
  receive(message(Inventory()));
  EXPECT_FALSE(session_.is_lost(now_ + kLease));
  EXPECT_TRUE(session_.is_lost(now_ + over));
  EXPECT_TRUE(session_.is_lost(now_ + Duration::hours(1))) << "until it is heard again";
  now_ = now_ + Duration::hours(1);
  receive(message(Beat()), true);
  EXPECT_FALSE(session_.is_lost(now_));
}

// Each kind of message in each state.
struct Row {
  const char* state;
  Taking inventory;  // One that knows all orders,
  Taking behind;     // and one that does not.
  Taking news;
};

class NodeSessionTable : public NodeSessionTest, public ::testing::WithParamInterface<Row> {
 protected:
  // Brings the session there; whether the node is a member then.
  bool enter(const std::string& state) {
    if (state == "unknown") return false;
    const UpSequence up = join();
    if (state == "joining") return false;
    (void)session_.join_done(up, true);
    send();
    if (state == "link lost") session_.lose_link();
    if (state == "left") receive(message(GoodBye()), true);
    return state != "left" && state != "in another life";
  }
  Up behind() {
    Up message = this->message(Inventory());
    message.stamp.epoch = Epoch(kEpoch.value() - 1);
    return message;
  }
};

TEST_P(NodeSessionTable, TakesEachMessage) {
  for (const bool is_behind : {false, true}) {
    session_ = NodeSession(kEpoch, kLease, now_);
    sent_ = 0;
    const bool member = enter(GetParam().state);
    const Up inventory = is_behind ? behind() : message(Inventory());
    EXPECT_EQ(receive(inventory, member), is_behind ? GetParam().behind : GetParam().inventory);
  }
  session_ = NodeSession(kEpoch, kLease, now_);
  sent_ = 0;
  const bool member = enter(GetParam().state);
  EXPECT_EQ(receive(message(Report()), member), GetParam().news);
  EXPECT_EQ(receive(message(GoodBye()), member), Taking::kLeaves);
}

INSTANTIATE_TEST_SUITE_P(
    States, NodeSessionTable,
    ::testing::Values(Row{"unknown", Taking::kJoins, Taking::kAsks, Taking::kAsks},
                      Row{"joining", Taking::kJoins, Taking::kAsks, Taking::kReports},
                      Row{"joined", Taking::kJoins, Taking::kAsks, Taking::kReports},
                      Row{"in another life", Taking::kJoins, Taking::kAsks, Taking::kAsks},
                      Row{"link lost", Taking::kJoins, Taking::kAsks, Taking::kAsks},
                      Row{"left", Taking::kJoins, Taking::kAsks, Taking::kAsks}));

// Whatever comes in whichever order, what leaves keeps the law of numbers and batches.
TEST_F(NodeSessionTest, ARandomLifeSendsNothingTwiceAndNothingEarly) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SplitMix64 random(seed);
    session_ = NodeSession(kEpoch, kLease, now_);
    up_ = sent_ = 0;
    std::int64_t decided = 1;
    std::int64_t rests_on = 0;  // The event that the waiting difference rests on; 0: none.
    std::optional<UpSequence> joining;
    bool lost = false;  // The link, since then.
    for (int turn = 0; turn < 300; ++turn) {
      const std::uint64_t what = random.next() % 6;
      if (what == 0 && !joining && receive(message(Inventory())) == Taking::kJoins) {
        joining = UpSequence(up_);
        lost = false;
        session_.join_comes(*joining);
        session_.join_decided(*joining, EventSeq(rests_on = ++decided), orders());
      } else if (what == 1) {
        const std::int64_t durable = decided - static_cast<std::int64_t>(random.next() % 3);
        const bool left = session_.leaves_with(EventSeq(durable)).has_value();
        EXPECT_EQ(left, rests_on > 0 && rests_on <= durable && !lost) << "seed " << seed;
        if (rests_on <= durable) rests_on = 0;
      } else if (what == 2 && joining) {
        const bool durable = random.next() % 2 == 0;
        const bool left =
            session_.join_done(*std::exchange(joining, std::nullopt), durable).has_value();
        EXPECT_EQ(left, rests_on > 0 && durable && !lost) << "seed " << seed;
        rests_on = 0;
      } else if (what == 3) {
        session_.roll_back();
        rests_on = 0;
      } else if (what == 4 && session_.is_linked()) {
        const std::int64_t before = sent_;
        EXPECT_GT(send().sequence, before);
      } else {
        session_.lose_link();
        lost = true;
      }
    }
  }
}

TEST(NodeSession, WithoutALeaseNobodyIsLost) {
  NodeSession session(kEpoch, std::nullopt, Duration());
  Up report{NodeId("n"), {UpSequence(1), Incarnation("1"), kEpoch, 0}, Report()};
  (void)session.receive(report, true, Duration());
  EXPECT_FALSE(session.is_lost(Duration::hours(1'000)));
}

}  // namespace
}  // namespace runnel::node
