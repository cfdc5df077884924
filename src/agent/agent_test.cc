#include "agent/agent.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "agent/preparation_records.h"
#include "agent/testing/dead_mount.h"
#include "async/socket.h"
#include "env/files.h"
#include "env/process.h"
#include "env/testing/temporary_directory.h"
#include "node/parts.h"
#include "output/paths.h"
#include "runner/folders.h"
#include "runner/journal.h"
#include "runner/runner.h"
#include "runner/testing/runner_process.h"

namespace runnel::agent {
namespace {

using env::testing::TemporaryDirectory;
using model::EndCause;

// The binary started once more is the agent's runner.
__attribute__((constructor)) void become_runner_if_asked(int argc, char** argv) {
  runner::testing::become_runner(argc, argv);
}

struct NoSecrets final : SecretSource {
  Result<Values> values(const NodeId&, const JobId&) const override { return Values(); }
  std::string place(const JobId& job) const override { return "/kept/" + job.str(); }
};

// An agent on a loop of its own, with a runner of its own, and control's part played by the test.
class AgentHarness {
 public:
  explicit AgentHarness(const std::string& home, std::vector<NodeId> nodes = {NodeId("local")},
                        Epoch epoch = Epoch(1), Leftovers leftovers = {},
                        node::NodeLimits limits = {})
      : epoch_(epoch), loop_(MUST(async::EventLoop::create())) {
    AgentOptions options;
    options.home = home;
    for (NodeId& node : nodes) options.nodes.emplace_back().id = std::move(node);
    options.epoch = epoch;
    options.limits = limits;
    options.runner_command = {MUST(env::executable_path()), runner::testing::kRunnerArgument, home};
    options.secrets = std::make_shared<NoSecrets>();
    options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "TZ=UTC", "OTHERS=secret",
                           "RANK=7"};
    AgentEvents events;
    events.on_message = [this](node::Up message) { hear(std::move(message)); };
    events.on_runner_lost = [this](std::string reason) { losses.push_back(std::move(reason)); };
    events.on_notice = [this](std::string sentence) { notices.push_back(std::move(sentence)); };
    events.leftovers = [this, leftovers](std::vector<JobId> here) {
      asked = std::move(here);
      return answer(leftovers);
    };
    agent_ =
        std::make_unique<Agent>(*loop_, env::real_clock(), std::move(options), std::move(events));
    started = loop_->block_on(agent_->start());
  }
  ~AgentHarness() { (void)loop_->block_on(agent_->stop()); }

  Agent& agent() { return *agent_; }
  async::EventLoop& loop() { return *loop_; }

  Result<void> apply(std::function<void(model::NodeOrders&)> fill,
                     const NodeId& node = NodeId("local")) {
    model::NodeOrders orders;
    orders.epoch = epoch_;
    orders.sequence = ++sequences_[node];
    orders.node = node;
    orders.incarnation = agent_->incarnation();
    fill(orders);
    return agent_->apply(std::move(orders));
  }
  Result<void> start(model::StartOrder order) {
    return apply([&](model::NodeOrders& orders) { orders.start.push_back(std::move(order)); });
  }

  bool wait(std::function<bool()> done, Duration limit = Duration::seconds(60)) {
    const Duration until = env::real_clock().boot() + limit;
    bool is_done = done();
    while (!is_done && env::real_clock().boot() < until) {
      (void)loop_->block_on(loop_->sleep(Duration::millis(2)));
      is_done = done();
    }
    return is_done;
  }
  const model::RankReport& end_of(const model::AttemptRef& attempt, std::int32_t rank = 0) {
    const auto key = std::pair(attempt, rank);
    EXPECT_TRUE(wait([&] { return ends.contains(key); })) << to_string(attempt);
    return ends[key];
  }
  model::LogPage read_log(model::LogFilter filter, std::string cursor = {}) {
    return MUST(loop_->block_on(agent_->output().log(std::move(filter), std::move(cursor))));
  }

  Result<void> started;
  struct Join {
    Incarnation incarnation;
    node::Inventory inventory;
  };
  std::vector<Join> joins;
  std::vector<std::string> losses;
  std::vector<std::string> notices;
  std::vector<model::MetricReport> metrics;
  std::vector<JobId> asked;  // About leftovers.
  std::map<std::pair<model::AttemptRef, std::int32_t>, model::RankReport> ends;
  std::map<model::AttemptRef, int> reports;
  int messages = 0;  // Of all kinds.

 private:
  static Async<Leftovers> answer(Leftovers leftovers) { co_return leftovers; }
  void hear(node::Up message) {
    ++messages;
    if (const auto* part = std::get_if<node::InventoryPart>(&message.what)) {
      return parts_.push_back(*part);
    }
    if (auto* inventory = std::get_if<node::Inventory>(&message.what)) {
      node::make_whole(*inventory, std::exchange(parts_, {}));
      joins.push_back({message.stamp.incarnation, std::move(*inventory)});
      return;
    }
    const node::News& news = node::news_of(message);
    metrics.insert(metrics.end(), news.metrics.begin(), news.metrics.end());
    for (const model::RankReport& rank : news.ranks) take(rank);
  }
  void take(model::RankReport rank) {
    ++reports[rank.attempt];
    if (rank.ended) ends[{rank.attempt, rank.rank}] = std::move(rank);
  }

  Epoch epoch_;
  std::vector<node::InventoryPart> parts_;
  std::map<NodeId, std::int64_t> sequences_;  // The number of the last orders to each node.
  std::unique_ptr<async::EventLoop> loop_;
  std::unique_ptr<Agent> agent_;
};

model::StartOrder order_of(const std::string& script, std::int64_t task = 0,
                           std::int64_t lane = 1) {
  model::StartOrder order;
  order.attempt = {{JobId("job"), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)};
  order.lane = LaneId(lane);
  order.argv = {"/bin/sh", "-ec", script};
  order.env = {{"RUNNEL_JOB_ID", "job"}};
  order.workdir = "/";
  order.grace = Duration::seconds(20);
  order.max_log = Bytes::gibi(1);
  return order;
}

class AgentTest : public ::testing::Test {
 protected:
  ~AgentTest() override {
    // The runner is nobody's child: ended here, for the next test.
    const std::string pid = runner::testing::read_text(runner::runner_pid_file(home_.path()));
    if (pid.empty()) return;
    ::kill(static_cast<pid_t>(std::stol(pid)), SIGTERM);
    for (int i = 0; i < 2'000 && std::filesystem::exists(runner::runner_pid_file(home_.path()));
         ++i) {
      ::usleep(5'000);
    }
  }
  std::string text_of(AgentHarness& harness, const model::LogFilter& filter) {
    std::string text;
    for (const model::LogPiece& piece : harness.read_log(filter).pieces) text += piece.bytes;
    return text;
  }
  model::LogFilter all() const {
    model::LogFilter filter;
    filter.job = JobId("job");
    return filter;
  }

  std::vector<PreparationRecords::Record> records() const {
    return MUST(PreparationRecords(home_.path()).all()).records;
  }

  TemporaryDirectory home_;
};

TEST_F(AgentTest, StartsARunnerAndRunsAnAttempt) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  ASSERT_EQ(control.joins.size(), 1U);
  EXPECT_EQ(control.joins[0].inventory.node.id, NodeId("local"));
  EXPECT_TRUE(control.joins[0].inventory.has.ranks.empty());
  EXPECT_GT(control.agent().runner_pid(), 1);
  const model::StartOrder order = order_of("echo $TZ-$OTHERS-$RANK-$RUNNEL_JOB_ID; exit 4");
  ASSERT_TRUE(control.start(order).ok());
  EXPECT_EQ(control.end_of(order.attempt).code, 4);
  EXPECT_EQ(text_of(control, all()), "UTC---job\n");
}

TEST_F(AgentTest, TellsOfARunnerThatDoesNotAnswerAndOfNoneWhenItDoesAgain) {
  AgentHarness harness(home_.path());
  ASSERT_TRUE(harness.started.ok());
  const auto runner = static_cast<pid_t>(harness.agent().runner_pid());
  MUST(harness.start(order_of("echo once >> $RUNNEL_JOB_DIR/runs")));
  const model::AttemptRef first = order_of("").attempt;
  EXPECT_EQ(harness.end_of(first).code, 0);
  ASSERT_EQ(::kill(runner, SIGSTOP), 0);
  EXPECT_TRUE(harness.wait([&] { return harness.agent().runner_silence().has_value(); }));
  EXPECT_EQ(harness.agent().runner_silence()->pid, runner);
  MUST(harness.start(order_of("echo once >> $RUNNEL_JOB_DIR/runs", 1)));
  ASSERT_EQ(::kill(runner, SIGCONT), 0);
  EXPECT_EQ(harness.end_of(order_of("", 1).attempt).code, 0);
  EXPECT_TRUE(harness.wait([&] { return !harness.agent().runner_silence().has_value(); }));
  EXPECT_EQ(harness.joins.size(), 1U);  // The connection was never given up.
  EXPECT_EQ(runner::testing::read_text(home_.path() + "/jobs/job/shared/runs"), "once\nonce\n");
}

TEST_F(AgentTest, TellsWhatATrialReportedBeforeItsEnd) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  model::StartOrder order =
      order_of(R"(echo '{"step": 1, "loss": 3}' >> "$RUNNEL_METRICS_FILE"; sleep 0.3; )"
               R"(echo '{"step": 2, "loss": 2}' >> "$RUNNEL_METRICS_FILE")");
  order.objectives = {"loss"};
  order.is_followed = true;
  order.keep_task_dir = true;
  ASSERT_TRUE(control.start(order).ok());
  (void)control.end_of(order.attempt);
  ASSERT_GE(control.metrics.size(), 3U);
  EXPECT_EQ(control.metrics.front().step, 1);
  EXPECT_FALSE(control.metrics.front().last);
  EXPECT_EQ(control.metrics.back(), (model::MetricReport{order.attempt, 2, {{"loss", "2"}}, true}));
}

TEST_F(AgentTest, ARetryWhoseOwnFilesNeverAnswerHoldsUpNoOther) {
  const auto retry = [](std::int64_t task) {
    model::StartOrder order = order_of("true", task, task + 1);
    order.attempt.attempt = AttemptNumber(2);
    order.objectives = {"loss"};
    order.is_followed = true;
    order.keep_task_dir = true;
    return order;
  };
  testing::DeadMount mount(output::task_folder(home_.path(), retry(0).attempt.task));
  if (!mount.mounted()) GTEST_SKIP() << "only root with /dev/fuse can mount what never answers";
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  MUST(control.start(retry(0)));
  MUST(control.start(retry(1)));
  EXPECT_EQ(control.end_of(retry(1).attempt).cause, EndCause::kExited);
  EXPECT_EQ(control.end_of(retry(0).attempt).cause, EndCause::kNotStarted);
}

model::StartOrder saving_order() {
  model::StartOrder order = order_of(R"(echo good > "$RUNNEL_CHECKPOINT_DIR/model")");
  order.keep_task_dir = true;
  return order;
}

// The second attempt of another task, which goes on from what the donor saved.
model::StartOrder order_after(const model::StartOrder& donor, const std::string& script) {
  model::StartOrder order = order_of(script, 7, 7);
  const model::TaskRef& task = donor.attempt.task;
  order.attempt.attempt = AttemptNumber(2);
  order.keep_task_dir = true;
  order.checkpoint_from = model::CheckpointSource{task, "", 1};
  return order;
}

TEST_F(AgentTest, BeginsWithTheCheckpointOfAnotherTask) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  const model::StartOrder donor = saving_order();
  ASSERT_TRUE(control.start(donor).ok());
  EXPECT_EQ(control.end_of(donor.attempt).code, 0);
  const model::StartOrder member = order_after(donor, R"(cat "$RUNNEL_RESUME_FROM/model")");
  ASSERT_TRUE(control.start(member).ok());
  EXPECT_EQ(control.end_of(member.attempt).code, 0);
  EXPECT_EQ(text_of(control, all()), "good\n");
  EXPECT_TRUE(control.wait([&] { return records().empty(); })) << "the attempt has begun";
}

TEST_F(AgentTest, OfAnAttemptThatDoesNotBeginNoRecordStays) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  const model::StartOrder donor = saving_order();
  ASSERT_TRUE(control.start(donor).ok());
  EXPECT_EQ(control.end_of(donor.attempt).code, 0);
  const model::StartOrder member = order_after(donor, "true");
  const auto start_and_stop = [&](model::NodeOrders& orders) {
    orders.start.push_back(member);
    orders.stop.push_back({member.attempt, Duration(), {}});
  };
  ASSERT_TRUE(control.apply(start_and_stop).ok());
  EXPECT_EQ(control.end_of(member.attempt).cause, EndCause::kNotStarted);
  EXPECT_TRUE(control.wait([&] { return env::exists(home_.path() + "/preparing"); }));
  control.wait([] { return false; }, Duration::millis(300));  // Its record comes after the folder.
  EXPECT_TRUE(control.wait([&] { return records().empty(); }));
}

// Its turn had not come.
TEST_F(AgentTest, OfAnAttemptThatIsLetGoOfNoRecordStays) {
  AgentHarness control(home_.path(), {NodeId("local")}, Epoch(1), {}, {.handed_over_max = 1});
  ASSERT_TRUE(control.started.ok());
  const model::StartOrder donor = saving_order();
  ASSERT_TRUE(control.start(donor).ok());
  EXPECT_EQ(control.end_of(donor.attempt).code, 0);
  const model::StartOrder running = order_of("sleep 600", 1, 2);
  const model::StartOrder member = order_after(donor, "true");
  ASSERT_TRUE(control.start(running).ok());
  ASSERT_TRUE(control.start(member).ok());
  const std::string copy = output::task_folder(home_.path(), member.attempt.task);
  EXPECT_TRUE(control.wait([&] { return env::exists(copy + "/.checkpoint-from"); }));
  EXPECT_EQ(records().size(), 1U);
  EXPECT_FALSE(control.wait([] { return false; }, Duration::millis(50))) << "the agent hears of it";
  MUST(control.apply([&](auto& orders) { orders.forget.push_back(member.attempt); }));
  EXPECT_TRUE(control.wait([&] { return records().empty(); }));
  MUST(control.apply(
      [&](auto& orders) { orders.stop.push_back({running.attempt, Duration(), {}}); }));
  (void)control.end_of(running.attempt);
}

TEST_F(AgentTest, SaysWhatAnAttemptWaitsForBesideAnotherOfItsTask) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  const model::StartOrder first = order_of("sleep 600");
  model::StartOrder next = order_of("true");
  next.attempt.attempt = AttemptNumber(2);
  ASSERT_TRUE(control.start(first).ok());
  ASSERT_TRUE(control.start(next).ok());
  EXPECT_TRUE(control.agent().waiting().empty()) << "for a moment";
  EXPECT_TRUE(control.wait([&] { return !control.agent().waiting().empty(); }));
  const Preparer::Waiting waits = control.agent().waiting().front();
  EXPECT_EQ(waits.of.attempt, next.attempt);
  EXPECT_EQ(waits.waits_for, "another attempt of the same task, which has not ended here");
  MUST(
      control.apply([&](auto& orders) { orders.stop.push_back({first.attempt, Duration(), {}}); }));
  EXPECT_EQ(control.end_of(next.attempt).code, 0);
  EXPECT_TRUE(control.agent().waiting().empty());
}

TEST_F(AgentTest, SaysNothingOfWhatWaitedWhenItsRunnerWasKilled) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  model::StartOrder next = order_of("true");
  next.attempt.attempt = AttemptNumber(2);
  ASSERT_TRUE(control.start(order_of("sleep 600")).ok());
  ASSERT_TRUE(control.start(next).ok());
  ASSERT_TRUE(control.wait([&] { return !control.agent().waiting().empty(); }));
  ::kill(static_cast<pid_t>(control.agent().runner_pid()), SIGKILL);
  ASSERT_TRUE(control.wait([&] { return control.joins.size() == 2; }));
  EXPECT_TRUE(control.agent().waiting().empty()) << "nobody has ordered it again";
}

TEST_F(AgentTest, TakesBackWhatAnEarlierAgentMadeForAnAttemptThatNobodyWants) {
  MUST(PreparationRecords(home_.path()).keep({NodeId("local"), order_after(saving_order(), "")}));
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  EXPECT_TRUE(control.wait([&] { return records().empty(); }));
}

TEST_F(AgentTest, AnAttemptWhoseCheckpointCanNeverBeCopiedFailsByName) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  const model::StartOrder donor = saving_order();
  ASSERT_TRUE(control.start(donor).ok());
  EXPECT_EQ(control.end_of(donor.attempt).code, 0);
  const model::StartOrder member = order_after(donor, "true");
  const std::string folder = output::task_folder(home_.path(), member.attempt.task);
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path());
  std::ofstream(folder) << "in the way";
  ASSERT_TRUE(control.start(member).ok());
  const model::RankReport end = control.end_of(member.attempt);
  EXPECT_EQ(end.cause, EndCause::kExited);
  EXPECT_EQ(end.code, 126);
  EXPECT_NE(end.message.find(folder + " is a file, not a folder"), std::string::npos)
      << end.message;
}

TEST_F(AgentTest, TellsNothingOfTasksThatNobodySearches) {
  AgentHarness control(home_.path());
  ASSERT_TRUE(control.started.ok());
  const model::StartOrder order =
      order_of(R"(echo '{"loss": 3}' >> "$RUNNEL_METRICS_FILE"; sleep 0.1)");
  ASSERT_TRUE(control.start(order).ok());
  (void)control.end_of(order.attempt);
  EXPECT_TRUE(control.metrics.empty());
  model::MetricFilter filter;
  filter.job = JobId("job");
  const model::MetricPage page =
      MUST(control.loop().block_on(control.agent().output().metrics(filter)));
  ASSERT_EQ(page.series.size(), 1U);
  EXPECT_EQ(page.series[0].samples, (std::vector<model::MetricSample>{{0, {{"loss", "3"}}}}));
}

TEST_F(AgentTest, TellsOnJoiningWhatATrialReportedWhileNobodyLooked) {
  model::StartOrder order =
      order_of(R"(sleep 0.5; echo '{"step": 7, "loss": 2}' >> "$RUNNEL_METRICS_FILE")");
  order.objectives = {"loss"};
  order.is_followed = true;
  order.keep_task_dir = true;
  {
    AgentHarness control(home_.path());
    ASSERT_TRUE(control.start(order).ok());
    ASSERT_TRUE(control.wait([&] { return control.reports.contains(order.attempt); }));
  }
  ::usleep(900'000);
  AgentHarness again(home_.path(), {NodeId("local")}, Epoch(2));
  ASSERT_EQ(again.joins.size(), 1U);
  ASSERT_FALSE(again.joins[0].inventory.has.metrics.empty());
  EXPECT_EQ(again.joins[0].inventory.has.metrics.back().step, 7);
  EXPECT_TRUE(again.joins[0].inventory.has.metrics.back().last);
}

// Found by the end-to-end tests beside busy loops: it ended as a trial that had reported nothing.
TEST_F(AgentTest, WhatATrialReportsThatWaitedAtTheRunnerIsToldByTheNextAgent) {
  const std::string go = home_.path() + "/go";
  model::StartOrder waits =
      order_of(R"(echo '{"step": 3, "loss": 2}' >> "$RUNNEL_METRICS_FILE")", 1);
  waits.objectives = {"loss"};
  waits.is_followed = true;
  waits.keep_task_dir = true;
  {
    AgentHarness control(home_.path());
    const model::StartOrder first = order_of("while [ ! -e " + go + " ]; do sleep 0.01; done");
    ASSERT_TRUE(control.start(first).ok());
    ASSERT_TRUE(control.wait([&] { return control.reports.contains(first.attempt); }));
    ASSERT_TRUE(control.start(waits).ok());  // On the same lane.
    // The order arrives before the end of the connection that it was sent on.
  }
  AgentHarness again(home_.path(), {NodeId("local")}, Epoch(2));
  ASSERT_EQ(again.joins.at(0).inventory.has.ranks.size(), 2U);
  std::ofstream(go) << "go";
  EXPECT_EQ(again.end_of(waits.attempt).code, 0);
  ASSERT_FALSE(again.metrics.empty());
  EXPECT_EQ(again.metrics.back(), (model::MetricReport{waits.attempt, 3, {{"loss", "2"}}, true}));
}

// It takes the connection and ends, as one does that was reached after its last look.
TEST_F(AgentTest, GoesOnToTheNextWhenTheRunnerItReachedIsEnding) {
  std::filesystem::create_directories(runner::runner_folder(home_.path()));
  const std::string path = runner::runner_socket(home_.path());
  async::UniqueFd listener = MUST(async::listen_unix(path));
  const pid_t ending = ::fork();
  if (ending == 0) {
    const int connection = ::accept(listener.get(), nullptr, nullptr);
    ::unlink(path.c_str());
    ::close(connection);
    ::_exit(0);
  }
  listener.reset();
  AgentHarness control(home_.path());
  ::waitpid(ending, nullptr, 0);
  EXPECT_TRUE(control.started.ok()) << control.started.error().to_string();
  EXPECT_EQ(control.joins.size(), 1U);
}

TEST_F(AgentTest, IsIdempotent) {
  AgentHarness control(home_.path());
  const model::StartOrder order = order_of("echo once");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(control.start(order).ok());
  control.end_of(order.attempt);
  ASSERT_TRUE(control.start(order).ok());
  const model::StartOrder other = order_of("true", 1);
  ASSERT_TRUE(control.start(other).ok());
  control.end_of(other.attempt);
  EXPECT_EQ(text_of(control, all()), "once\n");
}

TEST_F(AgentTest, RefusesOldEpochsAndOtherIncarnations) {
  AgentHarness control(home_.path(), {NodeId("local")}, Epoch(5));
  model::NodeOrders orders;
  orders.node = NodeId("local");
  orders.epoch = Epoch(4);
  orders.incarnation = control.agent().incarnation();
  EXPECT_EQ(control.agent().apply(orders).error().code, Errc::kPrecondition);
  orders.epoch = Epoch(5);
  orders.sequence = 1;
  orders.incarnation = Incarnation("another");
  orders.forget.push_back(order_of("").attempt);
  EXPECT_EQ(control.agent().apply(orders).error().code, Errc::kPrecondition);
  orders.sequence = 2;
  orders.incarnation = control.agent().incarnation();
  EXPECT_TRUE(control.agent().apply(orders).ok());
  EXPECT_EQ(control.agent().apply(orders).error().code, Errc::kPrecondition) << "once";
}

TEST_F(AgentTest, StopsWhatRunsAndWhatWaits) {
  AgentHarness control(home_.path());
  const model::StartOrder runs = order_of("echo up; sleep 1000", 0);
  const model::StartOrder waits = order_of("echo never", 1);
  ASSERT_TRUE(control.start(runs).ok());
  ASSERT_TRUE(control.start(waits).ok());
  ASSERT_TRUE(control.wait([&] { return control.reports.contains(runs.attempt); }));
  ASSERT_TRUE(control
                  .apply([&](model::NodeOrders& orders) {
                    for (const model::StartOrder* order : {&waits, &runs}) {
                      orders.stop.push_back(
                          {order->attempt, Duration::seconds(5), model::StopReason::kCancelled});
                    }
                  })
                  .ok());
  EXPECT_EQ(control.end_of(runs.attempt).cause, EndCause::kStopped);
  EXPECT_EQ(control.end_of(waits.attempt).cause, EndCause::kNotStarted);
  EXPECT_EQ(control.end_of(waits.attempt).started_at, Time());
}

TEST_F(AgentTest, ANewAgentFindsWhatTheOldOneStarted) {
  const std::string go = home_.path() + "/go";
  const model::StartOrder lives =
      order_of("while [ ! -e " + go + " ]; do sleep 0.01; done; exit 8", 0, 1);
  const model::StartOrder done = order_of("exit 3", 1, 2);
  Incarnation first;
  {
    AgentHarness control(home_.path());
    first = control.agent().incarnation();
    ASSERT_TRUE(control.start(lives).ok());
    ASSERT_TRUE(control.start(done).ok());
    control.end_of(done.attempt);
    ASSERT_TRUE(control.wait([&] { return control.reports.contains(lives.attempt); }));
  }
  AgentHarness control(home_.path());
  EXPECT_EQ(control.agent().incarnation(), first);
  ASSERT_EQ(control.joins.at(0).inventory.has.ranks.size(), 2U);
  for (const model::RankReport& rank : control.joins[0].inventory.has.ranks) {
    EXPECT_EQ(rank.ended, rank.attempt == done.attempt);
    if (rank.ended) EXPECT_EQ(rank.code, 3);
  }
  ASSERT_TRUE(control.start(lives).ok()) << "control may repeat itself";
  std::ofstream(go) << "go";
  EXPECT_EQ(control.end_of(lives.attempt).code, 8);
}

// Its task may have been given to another node, which shares its folders.
TEST_F(AgentTest, NoNodeJoinsBeforeWhatRunsForOneThatIsNoMoreHasEnded) {
  const std::string saved = home_.path() + "/saved";
  const model::StartOrder order = order_of(
      "trap 'sleep 0.7; echo > " + saved + "; exit 0' TERM; echo up; sleep 1000 & wait", 0, 1);
  {
    AgentHarness control(home_.path(), {NodeId("former")});
    const auto start = [&](model::NodeOrders& orders) { orders.start.push_back(order); };
    ASSERT_TRUE(control.apply(start, NodeId("former")).ok());
    ASSERT_TRUE(control.wait([&] { return text_of(control, all()) == "up\n"; }));
  }
  AgentHarness control(home_.path());
  EXPECT_TRUE(control.started.ok());
  EXPECT_TRUE(env::exists(saved)) << "it has saved what it had";
  ASSERT_EQ(control.joins.size(), 1U);
  EXPECT_TRUE(control.joins[0].inventory.has.ranks.empty());
  const model::StartOrder next = order_of("exit 3", 1, 2);
  ASSERT_TRUE(control.start(next).ok());
  EXPECT_EQ(control.end_of(next.attempt).code, 3);
}

// What is read of the disk meanwhile must not take back what the runner is about to tell of.
TEST_F(AgentTest, WhatWaitsAtTheRunnerKeepsItsPartsOverManyMeetings) {
  const std::string go = home_.path() + "/go";
  AgentHarness control(home_.path());
  const model::StartOrder donor = saving_order();
  ASSERT_TRUE(control.start(donor).ok());
  EXPECT_EQ(control.end_of(donor.attempt).code, 0);
  const model::StartOrder before = order_of("while [ ! -e " + go + " ]; do sleep 0.01; done", 1, 7);
  ASSERT_TRUE(control.start(before).ok());
  ASSERT_TRUE(control.wait([&] { return control.reports.contains(before.attempt); }));
  const model::StartOrder waits = order_after(donor, R"(cat "$RUNNEL_RESUME_FROM/model")");
  ASSERT_TRUE(control.start(waits).ok());
  ASSERT_TRUE(control.wait([&] { return !records().empty(); }));
  const auto is_there = [&] {
    const std::vector<model::RankReport>& ranks = control.joins.back().inventory.has.ranks;
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const auto& rank) { return rank.attempt == waits.attempt; });
  };
  const auto meet = [&] {
    const std::size_t before_it = control.joins.size();
    (void)control.apply([](model::NodeOrders&) {});
    return control.wait([&] { return control.joins.size() > before_it; });
  };
  while (!is_there()) {
    control.wait([] { return false; }, Duration::millis(50));  // It is made ready meanwhile.
    ASSERT_TRUE(meet());
    if (!is_there()) ASSERT_TRUE(control.start(waits).ok());
  }
  for (std::int64_t task = 100; task < 140; ++task) {  // What takes a while to be taken back.
    model::StartOrder gone = order_after(donor, "");
    gone.attempt.task.job = JobId("ended");
    gone.attempt.task.index = TaskIndex(task);
    // The agent removes the folder when it is empty, now or again.
    while (!PreparationRecords(home_.path()).keep({NodeId("local"), gone}).ok()) continue;
  }
  for (int meeting = 0; meeting < 100; ++meeting) ASSERT_TRUE(meet());
  ASSERT_TRUE(is_there());
  // Each waits for the disk, for a second where others write to it as well.
  ASSERT_TRUE(control.wait([&] { return records().size() <= 1; }, Duration::seconds(300)));
  EXPECT_EQ(records().size(), 1U) << "its own stays until it begins";
  std::ofstream(go) << "go";
  EXPECT_EQ(control.end_of(waits.attempt).code, 0);
  EXPECT_EQ(text_of(control, all()), "good\n");
}

TEST_F(AgentTest, AKilledRunnerIsReplacedAndItsAttemptsAreTold) {
  AgentHarness control(home_.path());
  const Incarnation first = control.agent().incarnation();
  const model::StartOrder order = order_of("sleep 1000");
  ASSERT_TRUE(control.start(order).ok());
  ASSERT_TRUE(control.wait([&] { return control.reports.contains(order.attempt); }));
  ::kill(static_cast<pid_t>(control.agent().runner_pid()), SIGKILL);
  ASSERT_TRUE(control.wait([&] { return control.joins.size() == 2; }));
  EXPECT_GE(control.losses.size(), 1U);
  EXPECT_NE(control.agent().incarnation(), first);
  ASSERT_EQ(control.joins[1].inventory.has.ranks.size(), 1U);
  EXPECT_EQ(control.joins[1].inventory.has.ranks[0].cause, EndCause::kRunnerLost);
  EXPECT_EQ(control.joins[1].incarnation, control.agent().incarnation());
  model::StartOrder again = order_of("exit 2");
  again.attempt.attempt = AttemptNumber(2);
  ASSERT_TRUE(control.start(again).ok());
  EXPECT_EQ(control.end_of(again.attempt).code, 2);
}

TEST_F(AgentTest, AskedWhatThereIsItAsksItsRunner) {
  AgentHarness control(home_.path());
  const model::StartOrder runs = order_of("sleep 1000", 0, 1);
  const model::StartOrder done = order_of("exit 3", 1, 2);
  ASSERT_TRUE(control.start(runs).ok());
  ASSERT_TRUE(control.start(done).ok());
  control.end_of(done.attempt);
  ASSERT_TRUE(control.wait([&] { return control.reports.contains(runs.attempt); }));
  ASSERT_TRUE(control.apply([](model::NodeOrders&) {}).ok());
  ASSERT_TRUE(control.wait([&] { return control.joins.size() == 2; }));
  EXPECT_EQ(control.joins[1].incarnation, control.joins[0].incarnation);
  EXPECT_EQ(control.joins[1].inventory.has.ranks.size(), 2U);
  const model::StartOrder more = order_of("exit 4", 2, 3);
  ASSERT_TRUE(control.start(more).ok());
  EXPECT_EQ(control.end_of(more.attempt).code, 4);
}

TEST_F(AgentTest, ForgetsOnOrder) {
  AgentHarness control(home_.path());
  const model::StartOrder order = order_of("true");
  ASSERT_TRUE(control.start(order).ok());
  control.end_of(order.attempt);
  ASSERT_TRUE(
      control.apply([&](model::NodeOrders& orders) { orders.forget.push_back(order.attempt); })
          .ok());
  const pid_t runner = static_cast<pid_t>(control.agent().runner_pid());
  ASSERT_TRUE(control.wait([&] {
    return MUST(runner::read_journal(runner::runner_folder(home_.path()) + "/journal"))
        .ranks.empty();
  }));
  EXPECT_TRUE(runner::testing::process_lives(runner));
}

TEST_F(AgentTest, ALargeInventoryComesInParts) {
  AgentHarness control(home_.path(), {NodeId("local")}, Epoch(1), {},
                       {.reports_per_message_max = 2});
  std::vector<model::AttemptRef> all;
  for (std::int64_t task = 0; task < 5; ++task) {
    const model::StartOrder order = order_of("exit 3", task, task + 1);
    ASSERT_TRUE(control.start(order).ok());
    all.push_back(order.attempt);
  }
  for (const model::AttemptRef& attempt : all) EXPECT_EQ(control.end_of(attempt).code, 3);
  const int before = control.messages;
  ASSERT_TRUE(control.apply([](model::NodeOrders&) {}).ok());
  ASSERT_TRUE(control.wait([&] { return control.joins.size() == 2; }));
  EXPECT_EQ(control.messages, before + 3) << "of two ranks at most";
  EXPECT_EQ(control.joins[1].inventory.has.ranks.size(), 5U);
}

TEST_F(AgentTest, WhatComesOfOneTurnIsToldInOneMessage) {
  AgentHarness control(home_.path());
  const int before = control.messages;
  for (std::int64_t task = 0; task < 5; ++task) {
    const auto start_and_stop = [task](model::NodeOrders& orders) {
      orders.start.push_back(order_of("exit 0", task, task + 1));
      orders.stop.push_back({orders.start[0].attempt, Duration(), model::StopReason::kCancelled});
    };
    ASSERT_TRUE(control.apply(start_and_stop).ok());
  }
  EXPECT_EQ(control.messages, before) << "the turn has not ended";
  ASSERT_TRUE(control.wait([&] { return control.ends.size() == 5; }));
  EXPECT_EQ(control.messages, before + 1);
}

TEST_F(AgentTest, SeveralNodesShareTheRunner) {
  const NodeId a("a");
  const NodeId b("b");
  AgentHarness control(home_.path(), {a, b});
  ASSERT_EQ(control.joins.size(), 2U);
  model::StartOrder gang = order_of("echo $RANK of $WORLD_SIZE on $RUNNEL_NODE_RANK");
  gang.num_nodes = 2;
  gang.world_size = 2;
  gang.env.emplace_back("WORLD_SIZE", "2");
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    gang.first_rank = rank;
    gang.node_rank = rank;
    ASSERT_TRUE(control
                    .apply([&](model::NodeOrders& orders) { orders.start.push_back(gang); },
                           rank == 0 ? a : b)
                    .ok());
  }
  EXPECT_EQ(control.end_of(gang.attempt, 0).code, 0);
  EXPECT_EQ(control.end_of(gang.attempt, 1).code, 0);
  model::LogFilter filter = all();
  filter.rank = 1;
  EXPECT_EQ(text_of(control, filter), "1 of 2 on 1\n");
}

// As after a node was given up and is back: control wants its task elsewhere, or here, at once.
TEST_F(AgentTest, AnAttemptBeginsOnceTheOneBeforeItHasEnded) {
  const NodeId a("a");
  const NodeId b("b");
  AgentHarness control(home_.path(), {a, b});
  const std::string trace = home_.path() + "/trace";
  const model::StartOrder first =
      order_of("trap 'sleep 0.5; echo saved >> " + trace + "; exit 0' TERM; echo begun >> " +
                   trace + "; sleep 1000 & wait",
               0, 1);
  ASSERT_TRUE(
      control.apply([&](model::NodeOrders& orders) { orders.start.push_back(first); }, a).ok());
  ASSERT_TRUE(control.wait([&] { return env::exists(trace); }));
  model::StartOrder second = order_of("echo again >> " + trace, 0, 2);
  second.attempt.attempt = AttemptNumber(2);
  const auto stop = [&](model::NodeOrders& orders) {
    orders.stop.push_back({first.attempt, Duration::seconds(5), model::StopReason::kCancelled});
  };
  ASSERT_TRUE(control.apply(stop, a).ok());
  ASSERT_TRUE(
      control.apply([&](model::NodeOrders& orders) { orders.start.push_back(second); }, b).ok());
  EXPECT_EQ(control.end_of(second.attempt).code, 0);
  EXPECT_EQ(MUST(env::read_file(trace)), "begun\nsaved\nagain\n");
}

TEST_F(AgentTest, ANodeThatWasTakenAwayJoinsOnceItIsBack) {
  const NodeId a("a");
  const NodeId b("b");
  AgentHarness control(home_.path(), {a, b});
  const model::StartOrder order = order_of("echo up; sleep 1000");
  ASSERT_TRUE(
      control.apply([&](model::NodeOrders& orders) { orders.start.push_back(order); }, a).ok());
  ASSERT_TRUE(control.wait([&] { return text_of(control, all()) == "up\n"; }));
  control.joins.clear();
  control.agent().take_away(a);
  ASSERT_TRUE(control.apply([](model::NodeOrders&) {}, b).ok()) << "asks for an inventory";
  ASSERT_TRUE(control.wait([&] { return control.joins.size() == 1; }));
  control.wait([] { return false; }, Duration::millis(300));
  ASSERT_EQ(control.joins.size(), 1U);
  EXPECT_EQ(control.joins[0].inventory.node.id, b);
  EXPECT_FALSE(control.ends.contains({order.attempt, 0})) << "who is away tells nothing";
  control.agent().bring_back(a);
  ASSERT_TRUE(control.wait([&] { return control.joins.size() == 3; }));
  EXPECT_TRUE(control.losses.empty()) << "the runner was there all the time";
}

TEST_F(AgentTest, TellsOfOutputAtOnce) {
  AgentHarness control(home_.path());
  const std::string go = home_.path() + "/go";
  const model::StartOrder order = order_of("echo first; while [ ! -e " + go +
                                           " ]; do sleep 0.01; done; echo second >&2; sleep 1000");
  ASSERT_TRUE(control.start(order).ok());
  model::LogPage page;
  ASSERT_TRUE(control.wait([&] {
    (void)control.loop().block_on(control.agent().log_changed(JobId("job"), {}));
    page = control.read_log(all());
    return !page.pieces.empty();
  }));
  EXPECT_EQ(page.pieces[0].bytes, "first\n");
  EXPECT_EQ(page.pieces[0].stream, model::LogStream::kOut);
  std::ofstream(go) << "go";
  model::LogPage next;
  ASSERT_TRUE(control.wait([&] {
    (void)control.loop().block_on(control.agent().log_changed(JobId("job"), {}));
    next = control.read_log(all(), page.cursor);
    return !next.pieces.empty();
  }));
  EXPECT_EQ(next.pieces[0].bytes, "second\n");
  EXPECT_EQ(next.pieces[0].stream, model::LogStream::kErr);
  EXPECT_GE(next.pieces[0].arrived_at, page.pieces[0].arrived_at);
}

TEST_F(AgentTest, SaysWhyAnOrderCannotBeCarriedOut) {
  AgentHarness control(home_.path());
  model::StartOrder secret = order_of("true", 0);
  secret.secrets = {{"TOKEN", "env:MY_TOKEN"}};
  model::StartOrder outside = order_of("true", 1);
  outside.checkpoint = model::CheckpointPolicy{.dir = "../elsewhere"};
  model::StartOrder zero = order_of(std::string("a\0b", 3), 2);
  model::StartOrder empty = order_of("true", 3);
  empty.argv.clear();
  for (const model::StartOrder& order : {secret, outside, zero, empty}) {
    ASSERT_TRUE(control.start(order).ok());
    EXPECT_FALSE(control.end_of(order.attempt).message.empty());
  }
  EXPECT_EQ(control.end_of(secret.attempt).cause, EndCause::kNotStarted) << "it may come";
  for (const model::StartOrder& order : {outside, zero, empty}) {
    EXPECT_EQ(control.end_of(order.attempt).cause, EndCause::kExited) << "it stays wrong";
    EXPECT_EQ(control.end_of(order.attempt).code, 126);
  }
  EXPECT_TRUE(control.losses.empty()) << "the runner never saw any of it";
  model::StartOrder odd = order_of("echo $RUNNEL_CHECKPOINT_DIR", 4);
  odd.checkpoint = model::CheckpointPolicy{.dir = "./a//b/"};
  ASSERT_TRUE(control.start(odd).ok());
  EXPECT_EQ(control.end_of(odd.attempt).code, 0);
  EXPECT_NE(text_of(control, all()).find("/a/b\n"), std::string::npos);
}

// Found by reading: the daemon ended by a null pointer, at each start.
TEST_F(AgentTest, WhatFailsAtOnceIsNotWatched) {
  AgentHarness control(home_.path());
  model::StartOrder outside = order_of("true");
  outside.checkpoint = model::CheckpointPolicy{.dir = "../elsewhere"};
  ASSERT_TRUE(control
                  .apply([&](model::NodeOrders& orders) {
                    orders.start.push_back(outside);
                    orders.watch.push_back({outside.attempt, 0, 1, 1, {}});
                  })
                  .ok());
  EXPECT_EQ(control.end_of(outside.attempt).code, 126);
}

TEST_F(AgentTest, RemovesAJobsFolders) {
  AgentHarness control(home_.path());
  const model::StartOrder order =
      order_of("echo x > $RUNNEL_JOB_DIR/file; echo y > $RUNNEL_TASK_DIR/file");
  ASSERT_TRUE(control.start(order).ok());
  EXPECT_EQ(control.end_of(order.attempt).code, 0);
  const std::string folder = output::job_folder(home_.path(), JobId("job"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/shared/file"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/tasks/0.0/file"));
  ASSERT_TRUE(
      control.apply([](model::NodeOrders& orders) { orders.remove.emplace_back("job"); }).ok());
  EXPECT_TRUE(control.wait([&] {
    return !std::filesystem::exists(folder) &&
           !std::filesystem::exists(home_.path() + "/trash/job");
  }));
}

TEST_F(AgentTest, RemovesWhatAnEarlierAgentShouldHave) {
  const auto folder = [&](const char* job) { return output::job_folder(home_.path(), JobId(job)); };
  const std::string trash = home_.path() + "/trash/";
  for (const std::string& path :
       {folder("deleted"), folder("kept"), trash + "old", trash + "mine",
        home_.path() + "/jobs/a name that is no id of a job", trash + "nor is this one here"}) {
    std::filesystem::create_directories(path + "/shared");
    std::ofstream(path + "/shared/file") << "x";
  }
  AgentHarness control(home_.path(), {NodeId("local")}, Epoch(1),
                       {{JobId("deleted"), JobId("old")}, {}});
  EXPECT_TRUE(control.wait([&] { return !std::filesystem::exists(trash + "old"); }));
  EXPECT_EQ(control.asked,
            (std::vector<JobId>{JobId("deleted"), JobId("kept"), JobId("mine"), JobId("old")}));
  EXPECT_TRUE(std::filesystem::exists(trash + "mine/shared/file")) << "nobody said to remove it";
  EXPECT_FALSE(std::filesystem::exists(folder("deleted")));
  EXPECT_TRUE(std::filesystem::exists(folder("kept") + "/shared/file"));
}

TEST_F(AgentTest, SetsAsideWhatControlCannotTellAnythingAbout) {
  const auto file = [&](const char* place) { return home_.path() + place + "/shared/model.bin"; };
  for (const char* place : {"/jobs/unknown", "/lost+found/unknown"}) {
    std::filesystem::create_directories(home_.path() + place + "/shared");
    std::ofstream(file(place)) << place;
  }
  AgentHarness control(home_.path(), {NodeId("local")}, Epoch(1), {{}, {JobId("unknown")}});
  ASSERT_TRUE(control.wait([&] { return !control.agent().notices().empty(); }));
  EXPECT_FALSE(std::filesystem::exists(home_.path() + "/jobs/unknown"));
  EXPECT_EQ(runner::testing::read_text(file("/lost+found/unknown")), "/lost+found/unknown");
  EXPECT_EQ(runner::testing::read_text(file("/lost+found/unknown-2")), "/jobs/unknown");
  ASSERT_EQ(control.notices.size(), 1U);
  EXPECT_NE(control.notices[0].find(home_.path() + "/lost+found/unknown-2"), std::string::npos);
  EXPECT_NE(control.agent().notices()[0].find("the files of 2 jobs"), std::string::npos);
}

TEST_F(AgentTest, LeavesTheFilesOfWhatRunsWhereTheyAre) {
  const model::StartOrder order = order_of("sleep 60");
  {
    AgentHarness control(home_.path());
    ASSERT_TRUE(control.start(order).ok());
    ASSERT_TRUE(control.wait([&] { return control.reports.contains(order.attempt); }));
  }
  std::filesystem::create_directories(output::job_folder(home_.path(), JobId("lost")));
  AgentHarness control(home_.path(), {NodeId("local")}, Epoch(2),
                       {{}, {JobId("job"), JobId("lost")}});
  ASSERT_TRUE(control.wait([&] { return !control.agent().notices().empty(); }));
  EXPECT_TRUE(std::filesystem::exists(output::job_folder(home_.path(), JobId("job"))));
  EXPECT_EQ(control.notices.size(), 1U) << "about the other one";
}

TEST_F(AgentTest, RemovesAJobsFoldersWhileTheRunnerIsAway) {
  AgentHarness control(home_.path());
  const std::string folder = output::job_folder(home_.path(), JobId("job"));
  std::filesystem::create_directories(folder + "/shared");
  ::kill(static_cast<pid_t>(control.agent().runner_pid()), SIGKILL);
  EXPECT_TRUE(control.wait([&] { return !control.losses.empty(); }));
  const Result<void> applied =
      control.apply([](model::NodeOrders& orders) { orders.remove.emplace_back("job"); });
  EXPECT_EQ(applied.error().code, Errc::kUnavailable) << "the other orders are dropped";
  EXPECT_TRUE(control.wait([&] { return !std::filesystem::exists(folder); }));
}

TEST_F(AgentTest, KeepsABoundedNumberAtTheRunner) {
  AgentHarness control(home_.path());
  constexpr int kTasks = static_cast<int>(node::NodeLimits().handed_over_max) + 300;
  ASSERT_TRUE(control
                  .apply([&](model::NodeOrders& orders) {
                    for (int task = 0; task < kTasks; ++task) {
                      model::StartOrder order = order_of("", task, task % 2);
                      order.argv = {"/bin/true"};
                      orders.start.push_back(std::move(order));
                    }
                  })
                  .ok());
  // One that still waits here is withdrawn here.
  const model::AttemptRef last{{JobId("job"), StepIndex(0), TaskIndex(kTasks - 1)},
                               AttemptNumber(1)};
  ASSERT_TRUE(control
                  .apply([&](model::NodeOrders& orders) {
                    orders.stop.push_back({last, Duration(), model::StopReason::kWithdrawn});
                  })
                  .ok());
  EXPECT_TRUE(control.wait([&] { return control.ends.size() == kTasks; }, Duration::seconds(110)));
  EXPECT_EQ(control.ends.at({last, 0}).cause, EndCause::kNotStarted);
}

}  // namespace
}  // namespace runnel::agent
