#include "node/core.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "node/parts.h"
#include "node/session.h"

namespace runnel::node {
namespace {

const Epoch kReign(7);
const Incarnation kLife("n.1");
const Time kNow = Time::from_millis(1'000);

model::AttemptRef attempt(std::int64_t task, const std::string& job = "j") {
  return {{JobId(job), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)};
}

model::RankReport rank_of(const model::AttemptRef& attempt, std::int32_t rank = 0,
                          bool ended = false) {
  model::RankReport report;
  report.attempt = attempt;
  report.rank = rank;
  report.started_at = kNow;
  report.ended = ended;
  return report;
}

class NodeCoreTest : public ::testing::Test {
 protected:
  NodeCoreTest() { join(); }

  void join() {
    core_.meet(kLife);
    const std::vector<Up> messages = core_.join({});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<Inventory>(messages[0].what));
  }
  model::NodeOrders orders() {
    model::NodeOrders orders;
    orders.epoch = kReign;
    orders.sequence = ++sequence_;
    orders.node = NodeId("n");
    orders.incarnation = kLife;
    return orders;
  }
  static model::StartOrder start_of(const model::AttemptRef& attempt, std::int32_t ranks = 1) {
    model::StartOrder order;
    order.attempt = attempt;
    order.rank_count = ranks;
    return order;
  }
  NodeCore::Work start(const model::AttemptRef& attempt, std::int32_t ranks = 1) {
    model::NodeOrders orders = this->orders();
    orders.start.push_back(start_of(attempt, ranks));
    return core_.take(orders, kNow);
  }
  NodeCore::Work stop(const model::AttemptRef& attempt) {
    model::NodeOrders orders = this->orders();
    orders.stop.push_back({attempt, Duration::seconds(1), model::StopReason::kHalted});
    return core_.take(orders, kNow);
  }
  NodeCore::Work forget(const model::AttemptRef& attempt) {
    model::NodeOrders orders = this->orders();
    orders.forget.push_back(attempt);
    return core_.take(orders, kNow);
  }
  void make_ready(const model::AttemptRef& attempt, std::int32_t ranks = 1) {
    const NodeCore::Work work = start(attempt, ranks);
    ASSERT_EQ(work.prepare.size(), 1U);
    EXPECT_TRUE(core_.prepared(attempt, work.prepare[0].number));
  }
  void hand_over(const model::AttemptRef& attempt, std::int32_t ranks = 1) {
    make_ready(attempt, ranks);
    EXPECT_EQ(core_.next(), std::vector{attempt});
  }

  static News ranks(const std::vector<std::int64_t>& tasks) {
    News news;
    for (const std::int64_t task : tasks) news.ranks.push_back(rank_of(attempt(task)));
    return news;
  }
  static News told(const std::vector<Up>& messages) {
    News all;
    for (const Up& each : messages) append(all, news_of(each));
    return all;
  }

  NodeCore core_{NodeId("n"),
                 {UpSequence(40), {}, kReign, 0},
                 {.handed_over_max = 2, .waiting_max = 4, .reports_per_message_max = 2}};
  std::int64_t sequence_ = 0;
};

TEST_F(NodeCoreTest, AnAttemptIsMadeReadyWaitsItsTurnAndIsHandedOverOnce) {
  make_ready(attempt(1));
  make_ready(attempt(2));
  make_ready(attempt(3));
  EXPECT_EQ(core_.next(), (std::vector{attempt(1), attempt(2)})) << "no more than the limit";
  EXPECT_TRUE(core_.next().empty());
  EXPECT_TRUE(start(attempt(1)).prepare.empty()) << "ordered again";
  EXPECT_TRUE(core_.on_report(rank_of(attempt(1))).begins);
  EXPECT_FALSE(core_.on_report(rank_of(attempt(1))).begins) << "once";
  EXPECT_TRUE(core_.on_report(rank_of(attempt(1), 0, true)).tell);
  EXPECT_EQ(core_.next(), std::vector{attempt(3)}) << "there is room";
  EXPECT_EQ(forget(attempt(1)).drop_records, std::vector{attempt(1)});
  EXPECT_EQ(core_.find(attempt(1)), nullptr);
}

TEST_F(NodeCoreTest, ATaskHasOneLivingAttemptHere) {
  model::AttemptRef next = attempt(1);
  next.attempt = AttemptNumber(next.attempt.value() + 1);
  hand_over(attempt(1));
  EXPECT_TRUE(start(next).prepare.empty()) << "the one before it lives";
  EXPECT_TRUE(core_.released().empty());
  EXPECT_TRUE(start(next).prepare.empty()) << "ordered again";
  EXPECT_EQ(start(attempt(2)).prepare.size(), 1U) << "it holds up nobody else";
  core_.on_report(rank_of(attempt(1), 0, true));
  const std::vector<NodeCore::Preparation> released = core_.released();
  ASSERT_EQ(released.size(), 1U);
  EXPECT_TRUE(core_.prepared(next, released[0].number));
  EXPECT_EQ(core_.next(), std::vector{next});
  EXPECT_TRUE(core_.released().empty());
}

// Control gave the node up, began the next attempt and hears of the node again: the orders for the
// earlier one come late.
TEST_F(NodeCoreTest, AnEarlierAttemptThatComesLateDoesNotBeginBesideTheNext) {
  model::AttemptRef next = attempt(1);
  next.attempt = AttemptNumber(next.attempt.value() + 1);
  const NodeCore::Work begun = start(next);
  EXPECT_TRUE(start(attempt(1)).prepare.empty()) << "the next is made ready";
  EXPECT_TRUE(core_.prepared(next, begun.prepare[0].number));
  EXPECT_TRUE(core_.released().empty()) << "it waits for its turn";
  EXPECT_EQ(core_.next(), std::vector{next});
  EXPECT_TRUE(core_.released().empty()) << "it runs";
  EXPECT_EQ(forget(attempt(1)).let_go, std::vector{attempt(1)});
  core_.on_report(rank_of(next, 0, true));
  EXPECT_TRUE(core_.released().empty()) << "control has let go of the earlier one";
}

TEST_F(NodeCoreTest, OfTwoThatAreHeldBackOneIsReleased) {
  hand_over(attempt(1));
  for (std::int32_t number = 2; number <= 3; ++number) {
    model::AttemptRef later = attempt(1);
    later.attempt = AttemptNumber(number);
    EXPECT_TRUE(start(later).prepare.empty());
  }
  core_.on_report(rank_of(attempt(1), 0, true));
  const std::vector<NodeCore::Preparation> released = core_.released();
  ASSERT_EQ(released.size(), 1U);
  EXPECT_EQ(released[0].order.attempt.attempt, AttemptNumber(2));
  EXPECT_TRUE(core_.released().empty());
}

TEST_F(NodeCoreTest, WhatIsLetGoOfBeforeTheRunnerHasItIsNamedOnce) {
  start(attempt(1));
  hand_over(attempt(3));
  make_ready(attempt(2));
  EXPECT_EQ(forget(attempt(1)).let_go, std::vector{attempt(1)});
  EXPECT_EQ(forget(attempt(1)).let_go, std::vector<model::AttemptRef>{});
  EXPECT_EQ(forget(attempt(2)).let_go, std::vector{attempt(2)});
  EXPECT_EQ(forget(attempt(3)).let_go, std::vector<model::AttemptRef>{}) << "it runs: it is ended";
}

TEST_F(NodeCoreTest, NewsOfWhatTheRunnerDoesNotHaveChangeNothing) {
  start(attempt(1));
  EXPECT_FALSE(core_.on_report(rank_of(attempt(1), 0, true)).tell);
  EXPECT_EQ(core_.find(attempt(1))->stage, Stage::kPreparing);
}

TEST_F(NodeCoreTest, WhoIsStoppedWhileItIsHeldBackNeverBegins) {
  model::AttemptRef next = attempt(1);
  next.attempt = AttemptNumber(next.attempt.value() + 1);
  hand_over(attempt(1));
  start(next);
  EXPECT_EQ(stop(next).not_started.size(), 1U);
  core_.on_report(rank_of(attempt(1), 0, true));
  EXPECT_TRUE(core_.released().empty());
}

TEST_F(NodeCoreTest, WhatLivesBesideHoldsBackToo) {
  bool lives = true;
  NodeCore core(NodeId("n"), {UpSequence(40), {}, kReign, 0}, NodeLimits(),
                [&lives](const model::AttemptRef&) { return lives; });
  core.meet(kLife);
  (void)core.join({});
  model::NodeOrders orders = this->orders();
  model::StartOrder order;
  order.attempt = attempt(1);
  orders.start.push_back(order);
  EXPECT_TRUE(core.take(orders, kNow).prepare.empty());
  EXPECT_TRUE(core.released().empty());
  lives = false;
  EXPECT_EQ(core.released().size(), 1U);
}

TEST_F(NodeCoreTest, WhoeverIsReadyFirstGoesFirst) {
  const NodeCore::Work slow = start(attempt(1));
  make_ready(attempt(2));
  EXPECT_EQ(core_.next(), std::vector{attempt(2)});
  EXPECT_TRUE(core_.prepared(attempt(1), slow.prepare[0].number));
  EXPECT_EQ(core_.next(), std::vector{attempt(1)});
}

TEST_F(NodeCoreTest, EndsAreCountedByRank) {
  hand_over(attempt(1), 2);
  EXPECT_TRUE(core_.runs(JobId("j")));
  core_.on_report(rank_of(attempt(1), 1, true));
  core_.on_report(rank_of(attempt(1), 1, true));  // Told twice.
  EXPECT_EQ(core_.find(attempt(1))->ranks_left, 1);
  EXPECT_EQ(core_.find(attempt(1))->ended, std::vector<std::int32_t>{1});
  EXPECT_TRUE(core_.runs(JobId("j")));
  core_.on_report(rank_of(attempt(1), 0, true));
  EXPECT_FALSE(core_.runs(JobId("j")));
  EXPECT_FALSE(core_.runs(JobId("i")));
  EXPECT_FALSE(core_.idle()) << "its record is here";
}

TEST_F(NodeCoreTest, NothingIsToldOfStrangers) {
  EXPECT_FALSE(core_.on_report(rank_of(attempt(9))).tell);
}

// --- Who is not wanted any more.

TEST_F(NodeCoreTest, WhoWaitsIsStoppedWithoutTheRunner) {
  const NodeCore::Work work = start(attempt(1), 2);
  make_ready(attempt(2));
  for (const std::int64_t task : {1, 2}) {
    const NodeCore::Work stopped = stop(attempt(task));
    EXPECT_TRUE(stopped.stop.empty());
    ASSERT_EQ(stopped.not_started.size(), task == 1 ? 2U : 1U);
    EXPECT_EQ(stopped.not_started.back().cause, model::EndCause::kNotStarted);
    EXPECT_EQ(stopped.not_started.back().rank, task == 1 ? 1 : 0);
    EXPECT_TRUE(stopped.not_started.back().ended);
  }
  EXPECT_FALSE(core_.prepared(attempt(1), work.prepare[0].number)) << "too late";
  EXPECT_TRUE(core_.next().empty());
  EXPECT_TRUE(stop(attempt(1)).not_started.empty()) << "it was told";
  for (const std::int64_t task : {1, 2}) EXPECT_TRUE(forget(attempt(task)).drop_records.empty());
  EXPECT_TRUE(core_.idle());
}

TEST_F(NodeCoreTest, WhoWasHandedOverIsStoppedByTheRunner) {
  hand_over(attempt(1));
  const NodeCore::Work work = stop(attempt(1));
  ASSERT_EQ(work.stop.size(), 1U);
  EXPECT_EQ(work.stop[0].reason, model::StopReason::kHalted);
  EXPECT_TRUE(work.not_started.empty());
  EXPECT_TRUE(stop(attempt(9)).stop.empty()) << "nobody knows it";
}

TEST_F(NodeCoreTest, APreparationOfAnEarlierOrderDoesNotCount) {
  const std::int64_t first = start(attempt(1)).prepare[0].number;
  (void)stop(attempt(1));
  (void)forget(attempt(1));
  const std::int64_t second = start(attempt(1)).prepare[0].number;
  EXPECT_FALSE(core_.prepared(attempt(1), first));
  (void)stop(attempt(1));
  (void)forget(attempt(1));
  const std::int64_t third = start(attempt(1)).prepare[0].number;
  EXPECT_TRUE(core_.failed(attempt(1), second, Error(Errc::kIo, "late"), kNow).empty());
  EXPECT_TRUE(core_.prepared(attempt(1), third));
}

// Found by the simulator, whose driver told it after the join: the attempt, ordered again by then,
// ran on while its device was granted once more.
TEST_F(NodeCoreTest, WhatFailsBeforeTheRunnerIsMetAnewIsNotTold) {
  const std::int64_t number = start(attempt(1)).prepare[0].number;
  core_.lose_runner();
  const Error away(Errc::kUnavailable, "the disk is away");
  EXPECT_TRUE(core_.failed(attempt(1), number, away, kNow).empty());
  core_.meet(kLife);
  (void)core_.join({});
  EXPECT_EQ(start(attempt(1)).prepare.size(), 1U);
}

// Found by reading: what makes it ready goes on, and would change the folder of the next.
TEST_F(NodeCoreTest, WhileOneIsMadeReadyThatNobodyWantsTheNextIsHeldBack) {
  model::AttemptRef next = attempt(1);
  next.attempt = AttemptNumber(next.attempt.value() + 1);
  for (const char* how : {"stopped", "forgotten", "of an earlier life of the runner"}) {
    SCOPED_TRACE(how);
    const std::int64_t number = start(attempt(1)).prepare[0].number;
    if (how[0] == 's') (void)stop(attempt(1));
    if (how[0] != 'o') (void)forget(attempt(1));
    if (how[0] == 'o') {
      core_.meet(kLife);
      (void)core_.join({});
    }
    EXPECT_TRUE(start(next).prepare.empty());
    EXPECT_EQ(core_.held_back(), std::vector{next});
    EXPECT_TRUE(core_.released().empty());
    EXPECT_FALSE(core_.prepared(attempt(1), number));
    const std::vector<NodeCore::Preparation> released = core_.released();
    ASSERT_EQ(released.size(), 1U);
    EXPECT_TRUE(core_.held_back().empty());
    EXPECT_EQ(core_.failed(next, released[0].number, Error(Errc::kIo, "away"), kNow).size(), 1U);
    (void)forget(next);
  }
}

TEST_F(NodeCoreTest, APreparationThatFailsEndsItsRanks) {
  const std::int64_t wrong = start(attempt(1), 2).prepare[0].number;
  auto told = core_.failed(attempt(1), wrong, Error(Errc::kInvalid, "no such program"), kNow);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].code, 126);
  EXPECT_EQ(told[1].cause, model::EndCause::kExited);
  EXPECT_EQ(told[1].ended_at, kNow);
  (void)forget(attempt(1));
  const std::int64_t missing = start(attempt(1)).prepare[0].number;
  told = core_.failed(attempt(1), missing, Error(Errc::kUnavailable, "the disk is away"), kNow);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].cause, model::EndCause::kNotStarted) << "it is tried again";
}

// Found by reading: what tells of it may meet a full disk, and control, which does not know yet,
// orders it again. It would begin while its next attempt does.
TEST_F(NodeCoreTest, WhatFailedBeginsNotAgainBeforeControlLetsGoOfIt) {
  const std::int64_t number = start(attempt(1)).prepare[0].number;
  const Error away(Errc::kUnavailable, "the disk is away");
  ASSERT_EQ(core_.failed(attempt(1), number, away, kNow).size(), 1U);
  EXPECT_TRUE(start(attempt(1)).prepare.empty());
  EXPECT_FALSE(core_.runs(JobId("j")));
  EXPECT_TRUE(forget(attempt(1)).drop_records.empty());
  EXPECT_TRUE(core_.idle());
  EXPECT_EQ(start(attempt(1)).prepare.size(), 1U);
}

// Found by reading: the agent of before kept its place in the queue, and ended with the daemon.
TEST_F(NodeCoreTest, WhoWaitsAndIsForgottenNeverHasItsTurn) {
  make_ready(attempt(1));
  EXPECT_TRUE(forget(attempt(1)).drop_records.empty()) << "the runner has nothing of it";
  EXPECT_TRUE(core_.next().empty());
}

TEST_F(NodeCoreTest, WhoRunsAndIsForgottenIsEndedUnheard) {
  hand_over(attempt(1));
  const NodeCore::Work work = forget(attempt(1));
  EXPECT_TRUE(work.drop_records.empty()) << "its record is yet to come";
  ASSERT_EQ(work.stop.size(), 1U);
  const NodeCore::Reported heard = core_.on_report(rank_of(attempt(1), 0, true));
  EXPECT_FALSE(heard.tell);
  EXPECT_TRUE(heard.drop_record);
  EXPECT_TRUE(core_.idle());
}

TEST_F(NodeCoreTest, MoreThanMayWaitAreRefused) {
  for (int task = 0; task < 4; ++task) EXPECT_EQ(start(attempt(task)).prepare.size(), 1U);
  const NodeCore::Work work = start(attempt(4));
  ASSERT_EQ(work.not_started.size(), 1U);
  EXPECT_NE(work.not_started[0].message.find("more than 4 attempts wait here"), std::string::npos)
      << work.not_started[0].message;
  model::NodeOrders orders = this->orders();
  for (int task = 0; task < 4; ++task) orders.forget.push_back(attempt(task));
  core_.take(orders, kNow);
  EXPECT_TRUE(start(attempt(4)).prepare.empty()) << "it has failed until control lets go of it";
}

TEST_F(NodeCoreTest, OnlyWhatHasNotEndedIsWatched) {
  hand_over(attempt(1));
  hand_over(attempt(2));
  core_.on_report(rank_of(attempt(2), 0, true));
  model::NodeOrders orders = this->orders();
  for (std::int64_t task : {1, 2, 3}) orders.watch.push_back({attempt(task), 0, 1, 1, {}});
  const NodeCore::Work work = core_.take(orders, kNow);
  ASSERT_EQ(work.watch.size(), 1U);
  EXPECT_EQ(work.watch[0].attempt, attempt(1));
}

TEST_F(NodeCoreTest, AllThatHasNotEndedIsEnded) {
  hand_over(attempt(1));
  hand_over(attempt(2));
  core_.on_report(rank_of(attempt(1), 0, true));
  make_ready(attempt(3));
  const NodeCore::Work work = core_.end_all(kNow);
  ASSERT_EQ(work.stop.size(), 1U);
  EXPECT_EQ(work.stop[0].attempt, attempt(2));
  ASSERT_EQ(work.not_started.size(), 1U);
  EXPECT_EQ(work.not_started[0].attempt, attempt(3));
}

// --- Which orders count.

TEST_F(NodeCoreTest, OrdersCountOnce) {
  model::NodeOrders orders = this->orders();
  orders.start.push_back(start_of(attempt(1)));
  EXPECT_EQ(core_.take(orders, kNow).prepare.size(), 1U);
  (void)stop(attempt(1));
  const NodeCore::Work again = core_.take(orders, kNow);
  ASSERT_TRUE(again.dropped.has_value());
  EXPECT_TRUE(again.prepare.empty()) << "what ended is not begun again";
}

TEST_F(NodeCoreTest, OrdersOfAnOlderEpochAreRefusedAndANewerOneBegins) {
  (void)start(attempt(1));
  model::NodeOrders older = this->orders();
  older.epoch = Epoch(kReign.value() - 1);
  older.remove.emplace_back("j");
  const NodeCore::Work refused = core_.take(older, kNow);
  ASSERT_TRUE(refused.dropped.has_value());
  EXPECT_EQ(refused.dropped->code, Errc::kPrecondition);
  EXPECT_TRUE(refused.remove.empty());
  model::NodeOrders newer = this->orders();
  newer.epoch = Epoch(kReign.value() + 1);
  newer.sequence = 1;
  newer.start.push_back(start_of(attempt(2)));
  EXPECT_EQ(core_.take(newer, kNow).prepare.size(), 1U);
}

TEST_F(NodeCoreTest, OrdersForAnotherLifeAreOnTheirWayNoMore) {
  model::NodeOrders orders = this->orders();
  orders.incarnation = Incarnation("n.0");
  orders.start.push_back(start_of(attempt(1)));
  orders.remove.emplace_back("j");
  const NodeCore::Work work = core_.take(orders, kNow);
  EXPECT_TRUE(work.dropped.has_value());
  EXPECT_TRUE(work.prepare.empty());
  EXPECT_EQ(work.remove, std::vector{JobId("j")}) << "whoever's life it is";
  EXPECT_EQ(core_.beat().stamp.taken, orders.sequence);
}

TEST_F(NodeCoreTest, WithoutARunnerOnlyRemovalsAreTaken) {
  core_.lose_runner();
  model::NodeOrders orders = this->orders();
  orders.start.push_back(start_of(attempt(1)));
  orders.remove.emplace_back("j");
  const NodeCore::Work work = core_.take(orders, kNow);
  ASSERT_TRUE(work.dropped.has_value());
  EXPECT_EQ(work.dropped->code, Errc::kUnavailable);
  EXPECT_EQ(work.remove.size(), 1U);
}

TEST_F(NodeCoreTest, AQuestionIsAnsweredAsOftenAsItComes) {
  const model::NodeOrders question = orders();
  EXPECT_TRUE(core_.take(question, kNow).inventory);
  EXPECT_FALSE(core_.joined()) << "until it has answered";
  join();
  EXPECT_TRUE(core_.take(question, kNow).inventory) << "the first answer may have been lost";
  join();
  (void)start(attempt(1));
  EXPECT_FALSE(core_.take(question, kNow).inventory) << "an old one";
}

TEST_F(NodeCoreTest, WhoLacksOrdersJoinsAnew) {
  ++sequence_;  // Lost, or late.
  const NodeCore::Work work = start(attempt(1));
  EXPECT_TRUE(work.inventory);
  EXPECT_TRUE(work.prepare.empty()) << "the difference of the join has all of it";
  EXPECT_FALSE(core_.joined());
}

// --- Messages up.

TEST_F(NodeCoreTest, MessagesAreNumberedAndSayWhatWasTaken) {
  const Up first = core_.beat();
  EXPECT_EQ(first.node, NodeId("n"));
  EXPECT_EQ(first.stamp, (Stamp{UpSequence(42), kLife, kReign, 0})) << "the join was 41";
  (void)start(attempt(1));
  core_.tell(ranks({1}));
  const std::vector<Up> second = core_.reports();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].stamp, (Stamp{UpSequence(43), kLife, kReign, 1}));
  const std::vector<Up> bye = core_.leave();
  ASSERT_EQ(bye.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<GoodBye>(bye[0].what));
  EXPECT_FALSE(core_.joined());
}

TEST_F(NodeCoreTest, WhatComesTogetherIsToldTogether) {
  EXPECT_TRUE(core_.reports().empty()) << "nothing is no message";
  core_.tell(ranks({1}));
  core_.tell(ranks({2}));
  core_.tell({});
  EXPECT_TRUE(core_.has_news());
  const std::vector<Up> messages = core_.reports();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(news_of(messages[0]), ranks({1, 2}));
  EXPECT_FALSE(core_.has_news());
  EXPECT_TRUE(core_.reports().empty()) << "once";
}

TEST_F(NodeCoreTest, ALargeReportComesInSeveralMessages) {
  News news = ranks({1, 2, 3, 4});
  news.metrics.emplace_back().step = 9;
  core_.tell(news);
  const std::vector<Up> messages = core_.reports();
  ASSERT_EQ(messages.size(), 3U) << "of two reports at most";
  EXPECT_EQ(news_of(messages[0]).metrics.size(), 1U) << "what an end waited for comes before it";
  EXPECT_EQ(messages[2].stamp.up.value(), messages[0].stamp.up.value() + 2);
  EXPECT_EQ(told(messages), news);
}

TEST_F(NodeCoreTest, NewsBeforeTheJoinAreDropped) {
  const auto lose = [this] { core_.lose_runner(); };
  const auto meet = [this] { core_.meet(kLife); };
  const auto ask = [this] { EXPECT_TRUE(core_.take(orders(), kNow).inventory); };
  for (const std::function<void()>& what : std::vector<std::function<void()>>{lose, meet, ask}) {
    core_.tell(ranks({1}));
    what();
    core_.tell(ranks({2}));
    join();
    EXPECT_TRUE(core_.reports().empty()) << "the inventory tells of it";
  }
}

// The report may be lost with the end that it explains: a result that is no number is none.
TEST_F(NodeCoreTest, HealthIsToldAgainWithTheInventory) {
  const auto ails = [this](std::int64_t task, model::HealthProblem problem, std::int64_t step) {
    model::HealthReport report;
    report.attempt = attempt(task);
    report.problem = problem;
    report.step = step;
    News news;
    news.health.push_back(report);
    core_.tell(news);
  };
  const auto rejoin = [this](const std::vector<std::int64_t>& tasks) {
    core_.meet(kLife);
    Inventory inventory;
    inventory.has = ranks(tasks);
    for (const model::RankReport& rank : inventory.has.ranks) core_.has(rank, true);
    return told(core_.join(inventory)).health;
  };
  hand_over(attempt(1));
  ails(1, model::HealthProblem::kNotFinite, 4);
  ails(1, model::HealthProblem::kNotFinite, 5);  // again.
  ails(1, model::HealthProblem::kSlow, 6);
  ails(2, model::HealthProblem::kSlow, 7);  // nothing is known of it.
  core_.lose_runner();
  ails(3, model::HealthProblem::kHung, 8);  // found while the runner is met anew.
  std::vector<model::HealthReport> health = rejoin({1, 3});
  ASSERT_EQ(health.size(), 3U);
  EXPECT_EQ(health[0].step, 5);
  EXPECT_EQ(health[1].step, 6);
  EXPECT_EQ(health[2].step, 8);
  EXPECT_EQ(rejoin({1, 3}).size(), 3U) << "as often as it joins";
  (void)core_.on_report(rank_of(attempt(1), 0, true));
  (void)forget(attempt(1));
  EXPECT_EQ(rejoin({1, 3}).size(), 1U) << "until control lets go of it";
  EXPECT_TRUE(rejoin({}).empty());
}

TEST_F(NodeCoreTest, ALargeInventoryComesInParts) {
  Inventory inventory;
  inventory.node.id = NodeId("n");
  inventory.has = ranks({1, 2, 3});
  inventory.crashed_idle = true;
  inventory.beside.push_back({NodeId("m"), ranks({4, 5}).ranks});
  inventory.beside.push_back({NodeId("o"), ranks({6}).ranks});
  core_.meet(kLife);
  std::vector<Up> messages = core_.join(inventory);
  ASSERT_EQ(messages.size(), 3U);
  std::vector<InventoryPart> parts;
  for (std::size_t at = 0; at < 2; ++at) {
    ASSERT_TRUE(std::holds_alternative<InventoryPart>(messages[at].what));
    parts.push_back(std::get<InventoryPart>(messages[at].what));
  }
  Inventory whole = std::get<Inventory>(messages[2].what);
  EXPECT_EQ(whole.parts, 2);
  EXPECT_EQ(messages[2].stamp.up.value(), messages[0].stamp.up.value() + 2);
  make_whole(whole, std::move(parts));
  EXPECT_EQ(whole, inventory);
}

TEST_F(NodeCoreTest, WhoLeavesTellsWhatWasNotTold) {
  core_.tell(ranks({1, 2, 3}));
  const std::vector<Up> messages = core_.leave();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Report>(messages[0].what));
  EXPECT_TRUE(std::holds_alternative<GoodBye>(messages[1].what));
  EXPECT_EQ(told(messages), ranks({1, 2, 3}));
  EXPECT_FALSE(core_.has_news());
}

TEST_F(NodeCoreTest, AnInventoryReplacesWhatWasKnown) {
  hand_over(attempt(1));
  make_ready(attempt(2));
  core_.meet(Incarnation("n.2"));
  EXPECT_FALSE(core_.joined());
  core_.has(rank_of(attempt(3), 0), true);
  core_.has(rank_of(attempt(3), 1, true), true);
  core_.has(rank_of(attempt(4), 0), false);
  core_.has(rank_of(attempt(5), 0, true), true);
  EXPECT_EQ(core_.join({}).at(0).stamp.incarnation, Incarnation("n.2"));
  EXPECT_EQ(core_.find(attempt(1)), nullptr);
  EXPECT_EQ(core_.find(attempt(3))->ranks_left, 1);
  EXPECT_TRUE(core_.find(attempt(3))->begun);
  EXPECT_FALSE(core_.find(attempt(4))->begun);
  EXPECT_EQ(core_.find(attempt(5))->ranks_left, 0);
  EXPECT_TRUE(core_.next().empty()) << "who waited is started anew by control";
}

// Both sides of a node over a network that loses, doubles and delays, in turns: control, whose
// decisions are durable at once, wants tasks, and a runner has them.
class TwoSides {
 public:
  TwoSides(std::uint64_t seed, std::size_t reports_per_message_max)
      : random_(seed),
        core_(NodeId("n"), {}, {.reports_per_message_max = reports_per_message_max}) {
    core_.meet(kLife);
    say(core_.join({}));
  }

  void turn(bool is_calm) {
    is_calm_ = is_calm;
    if (!is_calm && happens(3)) want();
    for (const model::NodeOrders& orders : arrived(down_)) take(orders);
    end_some();
    say(core_.reports());
    up_.push_back(core_.beat());
    for (const Up& message : arrived(up_)) hear(message);
  }

  bool is_done() const { return wanted_.empty() && records_.empty() && core_.idle(); }
  const std::map<std::int64_t, int>& begun() const { return begun_; }

 private:
  bool happens(std::uint64_t one_in) { return random_.next() % one_in == 0; }

  // What arrives now: some messages are lost, some come again or later.
  template <typename T>
  std::vector<T> arrived(std::vector<T>& sent) {
    std::vector<T> now;
    for (T& message : std::exchange(sent, {})) {
      if (!is_calm_ && happens(5)) {
        session_.lose_link();  // As a connection that breaks with what is on it.
        continue;
      }
      if (!is_calm_ && happens(5)) sent.push_back(message);
      if (!is_calm_ && happens(5)) {
        sent.push_back(std::move(message));
      } else {
        now.push_back(std::move(message));
      }
    }
    return now;
  }

  // --- Control.

  model::NodeOrders orders() const {
    model::NodeOrders orders;
    orders.epoch = kReign;
    orders.node = NodeId("n");
    orders.incarnation = kLife;
    return orders;
  }
  void send(model::NodeOrders orders) {
    if (session_.is_linked()) down_.push_back(session_.stamped(std::move(orders)));
  }
  void want() {
    wanted_.insert(++tasks_);
    model::NodeOrders orders = this->orders();
    orders.start.emplace_back().attempt = attempt(tasks_);
    send(std::move(orders));
  }
  // The ranks that have ended are not wanted any more, and may be forgotten.
  std::vector<model::AttemptRef> let_go(const std::vector<model::RankReport>& ranks) {
    std::vector<model::AttemptRef> ended;
    for (const model::RankReport& rank : ranks) {
      if (rank.ended) wanted_.erase(rank.attempt.task.index.value());
      if (rank.ended) ended.push_back(rank.attempt);
    }
    return ended;
  }
  void hear(Up message) {
    const Taking taking = session_.receive(message, true, Duration());
    if (taking == Taking::kAsks) down_.push_back(session_.ask(NodeId("n"), kLife));
    if (taking == Taking::kJoins) return join(message);
    if (taking != Taking::kReports) return;
    model::NodeOrders orders = this->orders();
    orders.forget = let_go(news_of(message).ranks);
    session_.report_done(message.stamp.up);
    send(std::move(orders));
  }
  void join(const Up& message) {
    const std::vector<model::RankReport>& ranks = news_of(message).ranks;
    model::NodeOrders orders = this->orders();
    orders.forget = let_go(ranks);
    std::set<std::int64_t> missing = wanted_;
    for (const auto& rank : ranks) missing.erase(rank.attempt.task.index.value());
    for (std::int64_t task : missing) orders.start.emplace_back().attempt = attempt(task);
    session_.join_comes(message.stamp.up);
    session_.join_decided(message.stamp.up, EventSeq(++decided_), orders);
    const auto difference = session_.join_done(message.stamp.up, true);
    if (difference && !empty(*difference)) send(*difference);
  }

  // --- The node.

  void take(const model::NodeOrders& orders) {
    NodeCore::Work work = core_.take(orders, kNow);
    if (work.inventory) return meet();
    for (const model::AttemptRef& ref : work.drop_records) records_.erase(ref.task.index.value());
    for (const auto& each : work.prepare) core_.prepared(each.order.attempt, each.number);
    for (const auto& ref : core_.next()) begin(ref);
  }
  void begin(const model::AttemptRef& ref) {
    const std::int64_t task = ref.task.index.value();
    ++begun_[task];
    records_[task] = rank_of(ref);
  }
  void meet() {
    core_.meet(kLife);
    Inventory inventory;
    for (const auto& [task, rank] : records_) {
      inventory.has.ranks.push_back(rank);
      core_.has(rank, true);
    }
    say(core_.join(std::move(inventory)));
  }
  void say(std::vector<Up> messages) {
    for (Up& each : messages) up_.push_back(std::move(each));
  }
  void end_some() {
    for (auto& [task, rank] : records_) {
      if (rank.ended || !happens(4)) continue;
      rank.ended = true;
      const bool is_told = core_.joined() && core_.on_report(rank).tell;
      if (is_told) core_.tell({{rank}, {}, {}});
    }
  }

  SplitMix64 random_;
  bool is_calm_ = false;
  NodeSession session_{kReign, std::nullopt, Duration()};
  NodeCore core_;
  std::vector<Up> up_;
  std::vector<model::NodeOrders> down_;
  std::set<std::int64_t> wanted_;                      // By control.
  std::map<std::int64_t, model::RankReport> records_;  // The runner's.
  std::map<std::int64_t, int> begun_;
  std::int64_t tasks_ = 0;
  std::int64_t decided_ = 0;
};

TEST(NodeCoreAndSession, WhatIsOrderedBeginsOnceAndIsForgottenWhateverIsLost) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    TwoSides both(seed, seed % 2 == 0 ? 1'024 : seed % 4);
    for (int turn = 0; turn < 300; ++turn) both.turn(false);
    for (int turn = 0; turn < 100; ++turn) both.turn(true);
    EXPECT_TRUE(both.is_done()) << "seed " << seed;
    EXPECT_GT(both.begun().size(), 50u) << "seed " << seed;
    for (const auto& [task, times] : both.begun()) EXPECT_EQ(times, 1) << "seed " << seed;
  }
}

}  // namespace
}  // namespace runnel::node
