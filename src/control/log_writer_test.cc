#include "control/log_writer.h"

#include <ctime>
#include <random>

#include <gtest/gtest.h>

#include "async/together.h"
#include "brain/state.h"
#include "control/testing/home.h"
#include "env/testing/temporary_directory.h"

namespace runnel::control {
namespace {

using testing::LogWatch;
using Verb = model::JobRequest::Verb;

model::Input submit_input(const std::string& id) {
  model::Submit input;
  input.job = JobId(id);
  input.spec = testing::submission({testing::step("only")}).spec;
  return input;
}

model::Input cancel_input(const std::string& id) {
  return model::JobRequest{Verb::kCancel, JobId(id), "tester"};
}

model::Input join_input(const std::string& node) {
  model::NodeJoin join;
  join.node.id = NodeId(node);
  join.node.capacity.milli_cpus = 4000;
  join.node.capacity.memory = Bytes::gibi(4);
  join.incarnation = Incarnation("1");
  return join;
}

class Watcher final : public DurableObserver {
 public:
  void on_durable(std::vector<DurableBatch> batches) override {
    for (DurableBatch& batch : batches) seen.push_back(std::move(batch));
  }
  void on_rolled_back() override { ++rollbacks; }
  void on_dead(const Error& error) override { deaths.push_back(error); }

  std::vector<DurableBatch> seen;
  int rollbacks = 0;
  std::vector<Error> deaths;
};

// An input that is being decided, whoever waits for it.
class Asked {
 public:
  Asked(async::EventLoop& loop, LogWriter& writer, model::Input input)
      : loop_(loop), gate_(loop), answer_(std::make_shared<std::optional<Result<Outcome>>>()) {
    EXPECT_TRUE(loop.spawn(gate_, ask(writer, std::move(input), answer_)).ok());
  }
  ~Asked() { EXPECT_TRUE(loop_.block_on(gate_.close()).ok()); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  const std::optional<Result<Outcome>>& answer() const { return *answer_; }

 private:
  using Answer = std::shared_ptr<std::optional<Result<Outcome>>>;
  static Async<void> ask(LogWriter& writer, model::Input input, Answer into) {
    into->emplace(co_await writer.decide(std::move(input)));
    co_return {};
  }

  async::EventLoop& loop_;
  async::Gate gate_;
  Answer answer_;
};

class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest() : loop_(MUST(async::EventLoop::create())) {
    options_.commit_interval_min = Duration();
    options_.retry_after = Duration::millis(5);
    open();
  }
  ~LogWriterTest() override {
    if (writer_ != nullptr) close();
  }

  void open() {
    auto opened =
        loop_->block_on(LogWriter::open(*loop_, clock_, testing::watched_opener(watch_), options_));
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    writer_ = std::move(opened).value();
    writer_->observe(watcher_);
  }
  void close() {
    EXPECT_TRUE(loop_->block_on(writer_->stop()).ok());
    writer_.reset();
  }
  Result<Outcome> decide(model::Input input) {
    return loop_->block_on(writer_->decide(std::move(input)));
  }
  // Lets what is due happen.
  void turn() { ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(30))).ok()); }
  // Ends with the answer, or after half a minute.
  void await_answer(const Asked& asked) {
    for (int turns = 0; turns < 1'000 && !asked.answer(); ++turns) turn();
  }
  // The observer heard of each batch of the log once, in order.
  void expect_all_seen() const {
    ASSERT_EQ(watcher_.seen.size(), watch_.storage->batches.size());
    for (const DurableBatch& batch : watcher_.seen) {
      EXPECT_EQ(list_text(batch), watch_.storage->batches.at(batch.seq.value()).events);
    }
  }
  std::string state_text() const { return brain::encode_state(writer_->state()); }

  std::unique_ptr<async::EventLoop> loop_;
  env::testing::ManualClock clock_;
  LogWatch watch_;
  LogWriterOptions options_;
  Watcher watcher_;
  std::unique_ptr<LogWriter> writer_;
};

TEST_F(LogWriterTest, AnswersWhenTheBatchIsInTheLog) {
  auto outcome = decide(submit_input("a"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->job, JobId("a"));
  EXPECT_EQ(watch_.storage->batches.size(), 1U);
  ASSERT_EQ(watcher_.seen.size(), 1U);
  EXPECT_EQ(watcher_.seen.front().first_event, EventSeq(1));
  EXPECT_EQ(watcher_.seen.front().ends.size(), watcher_.seen.front().events.size());
}

TEST_F(LogWriterTest, KeepsNoBatchOfAnInputThatChangesNothing) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  auto refused = decide(cancel_input("unknown"));
  ASSERT_TRUE(refused.ok());
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->code, Errc::kNotFound);
  EXPECT_EQ(watch_.storage->batches.size(), 1U);
}

TEST_F(LogWriterTest, CountsTimeSinceBootWhileThereIsWork) {
  const env::testing::TemporaryDirectory folder;
  options_.time = std::make_shared<FileHomeTime>(folder.file("time.json"));
  close();
  open();
  ASSERT_TRUE(decide(submit_input("a")).ok());
  const Time before = writer_->now();
  close();
  clock_.advance(Duration::seconds(7));
  clock_.set_wall(clock_.wall() + Duration::seconds(100'000));
  open();
  EXPECT_EQ(writer_->now(), before + Duration::seconds(7));
  ASSERT_TRUE(decide(cancel_input("a")).ok());
  close();
  open();
  EXPECT_EQ(writer_->now(), clock_.wall()) << "nothing is measured: the time is set right";
}

TEST_F(LogWriterTest, CommitsWhatGathersDuringACommitTogether) {
  std::vector<Async<Outcome>> works;
  for (int job = 0; job < 200; ++job) {
    works.push_back(writer_->decide(submit_input("job" + std::to_string(job))));
  }
  auto all = loop_->block_on(async::when_all(*loop_, std::move(works)));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(watch_.storage->batches.size(), 200U);
  EXPECT_LE(watch_.appends, 3);
}

TEST_F(LogWriterTest, StartsCommitsNoFasterThanItsInterval) {
  close();
  options_.commit_interval_min = Duration::millis(50);
  open();
  ASSERT_TRUE(decide(submit_input("a")).ok());  // Idle: at once, whatever the clock says.
  const int before = watch_.appends;
  std::vector<Async<Outcome>> works;
  works.push_back(writer_->decide(submit_input("b")));
  works.push_back(writer_->decide(submit_input("c")));
  ASSERT_TRUE(loop_->block_on(async::when_all(*loop_, std::move(works))).ok());
  EXPECT_EQ(watch_.appends, before + 1);
}

// Counts what becomes of many inputs.
struct Tally {
  int taken = 0;
  int full = 0;

  static Async<void> ask(LogWriter& writer, model::Input input, Tally& tally) {
    Result<Outcome> outcome = co_await writer.decide(std::move(input));
    if (outcome.ok()) ++tally.taken;
    if (!outcome.ok() && outcome.error().code == Errc::kFull) ++tally.full;
    co_return {};
  }
};

TEST_F(LogWriterTest, RefusesUsersAndKeepsReportsWhenTooManyWaitForTheDisk) {
  const int most = static_cast<int>(LogWriter::kPendingInputsMax);
  Tally users;
  Tally nodes;
  std::vector<Async<void>> works;
  for (int job = 0; job < most + 50; ++job) {
    works.push_back(Tally::ask(*writer_, submit_input("job" + std::to_string(job)), users));
  }
  works.push_back(Tally::ask(*writer_, join_input("n1"), nodes));
  async::Timer later(*loop_);
  watch_.held.lock();  // The disk does not answer for a while.
  later.start(Duration::millis(30), [this] { watch_.held.unlock(); });
  ASSERT_TRUE(loop_->block_on(async::when_all(*loop_, std::move(works))).ok());
  EXPECT_EQ(users.taken, most);
  EXPECT_EQ(users.full, 50);
  EXPECT_EQ(nodes.taken, 1);
}

TEST_F(LogWriterTest, SettlesWhenWhatStateShowsIsDurable) {
  EXPECT_EQ(MUST(loop_->block_on(writer_->settled())), Settled::kDurable);  // There is nothing.
  watch_.held.lock();
  Tally tally;
  async::Gate gate(*loop_);
  ASSERT_TRUE(loop_->spawn(gate, Tally::ask(*writer_, submit_input("a"), tally)).ok());
  ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(5))).ok());
  ASSERT_EQ(writer_->state().jobs.size(), 1U);  // Decided, and not durable.
  EXPECT_EQ(watch_.appends, 0);
  async::Timer later(*loop_);
  later.start(Duration::millis(10), [this] { watch_.held.unlock(); });
  EXPECT_EQ(MUST(loop_->block_on(writer_->settled())), Settled::kDurable);
  EXPECT_EQ(watch_.appends, 1);
  ASSERT_TRUE(loop_->block_on(gate.close()).ok());
}

TEST_F(LogWriterTest, SaysThatWhatStateShowedIsVoid) {
  watch_.full = true;
  watch_.held.lock();
  Tally tally;
  async::Gate gate(*loop_);
  ASSERT_TRUE(loop_->spawn(gate, Tally::ask(*writer_, submit_input("a"), tally)).ok());
  ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(5))).ok());
  ASSERT_EQ(writer_->state().jobs.size(), 1U);
  async::Timer later(*loop_);
  later.start(Duration::millis(10), [this] { watch_.held.unlock(); });
  EXPECT_EQ(MUST(loop_->block_on(writer_->settled())), Settled::kRolledBack);
  ASSERT_TRUE(loop_->block_on(gate.close()).ok());
  EXPECT_EQ(tally.full, 1);
}

TEST_F(LogWriterTest, RefusalsWaitForWhatTheyRestOn) {
  // The second submission is refused because of the first, which the disk does not take.
  watch_.full = true;
  std::vector<Async<Outcome>> works;
  works.push_back(writer_->decide(submit_input("a")));
  works.push_back(writer_->decide(submit_input("a")));
  auto all = loop_->block_on(async::when_all(*loop_, std::move(works)));
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, Errc::kFull);
  watch_.full = false;
  auto again = decide(submit_input("a"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->refusal);
}

TEST_F(LogWriterTest, AcceptsNothingWhenTheDiskIsFullAndGoesOnAfterwards) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  const std::string before = state_text();
  watch_.full = true;
  auto refused = decide(submit_input("b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kFull);
  EXPECT_NE(refused.error().message.find("nothing was accepted"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("free some space"), std::string::npos);
  EXPECT_EQ(state_text(), before) << "the asker hears when it is void";
  EXPECT_EQ(watcher_.rollbacks, 1);
  watch_.full = false;
  ASSERT_TRUE(decide(submit_input("b")).ok());
  EXPECT_EQ(writer_->state().jobs.size(), 2U);
  EXPECT_EQ(watch_.openings, 1);
}

TEST_F(LogWriterTest, KeepsOnAFullDiskWhatFreesRoom) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  ASSERT_TRUE(decide(submit_input("b")).ok());
  watch_.full = true;
  EXPECT_EQ(decide(submit_input("c")).error().code, Errc::kFull);
  EXPECT_TRUE(watch_.reserve) << "what takes room does not get what is held for others";
  ASSERT_TRUE(decide(cancel_input("a")).ok());
  EXPECT_FALSE(watch_.reserve);
  const std::string after = state_text();
  const Result<Outcome> refused = decide(cancel_input("b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kFull);
  EXPECT_NE(refused.error().hint.find("by hand"), std::string::npos) << "the reserve is used up";
  EXPECT_EQ(state_text(), after);
  close();
  watch_.full = false;
  open();
  EXPECT_EQ(state_text(), after) << "it was durable";
}

TEST_F(LogWriterTest, FreesRoomWhileReportsWaitForIt) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  watch_.full = true;
  const Asked joining(*loop_, *writer_, join_input("n1"));
  turn();
  EXPECT_FALSE(joining.answer().has_value());
  EXPECT_TRUE(watch_.reserve);
  for (int tries = 0; tries < 1'000 && writer_->healthy(); ++tries) {  // It may be trying just now.
    ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(1))).ok());
  }
  ASSERT_FALSE(writer_->healthy());
  EXPECT_TRUE(decide(cancel_input("a")).ok());
  watch_.full = false;
}

// Decided beside a commit that fails, so that it was never appended.
TEST_F(LogWriterTest, FreesRoomBesideACommitThatFindsTheDiskFull) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  watch_.full = true;
  watch_.held.lock();
  const Asked taking(*loop_, *writer_, submit_input("b"));
  ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(5))).ok());
  const Asked freeing(*loop_, *writer_, cancel_input("a"));
  ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(5))).ok());
  watch_.held.unlock();
  await_answer(taking);
  await_answer(freeing);
  ASSERT_TRUE(taking.answer().has_value() && freeing.answer().has_value());
  EXPECT_FALSE(taking.answer()->ok());
  EXPECT_TRUE(freeing.answer()->ok());
  EXPECT_FALSE(watch_.reserve);
}

TEST_F(LogWriterTest, KeepsWhatHasHappenedInTheRoomThatIsHeldAndNothingElse) {
  watch_.held_room = 2;
  watch_.full = true;
  EXPECT_TRUE(decide(join_input("n1")).ok());
  EXPECT_EQ(watch_.held_room, 1);
  EXPECT_EQ(decide(submit_input("a")).error().code, Errc::kFull);
  EXPECT_EQ(decide(model::Wake{}).error().code, Errc::kFull);
  EXPECT_EQ(watch_.held_room, 1);
  EXPECT_EQ(watcher_.rollbacks, 0) << "what may wait is refused before it is decided";
  watch_.full = false;
  EXPECT_TRUE(decide(submit_input("a")).ok());
}

TEST_F(LogWriterTest, KeepsNoSnapshotWhileTheDiskIsShortOfRoom) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  watch_.held_room = 1;
  watch_.full = true;
  ASSERT_TRUE(decide(join_input("n1")).ok());
  const int before = watch_.snapshots;
  MUST(loop_->block_on(writer_->stop()));
  EXPECT_EQ(watch_.snapshots, before);
}

TEST_F(LogWriterTest, KeepsWhatNodesReportUntilThereIsRoom) {
  watch_.full = true;
  std::optional<Result<Outcome>> joined;
  async::Gate gate(*loop_);
  struct Wait {
    static Async<void> run(LogWriter& writer, std::optional<Result<Outcome>>& out) {
      model::Input input = join_input("n1");
      out.emplace(co_await writer.decide(std::move(input)));
      co_return {};
    }
  };
  ASSERT_TRUE(loop_->spawn(gate, Wait::run(*writer_, joined)).ok());
  ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(60))).ok());
  EXPECT_FALSE(joined.has_value());
  EXPECT_GE(watcher_.rollbacks, 2);  // It was tried again, and again in vain.
  for (int turn = 0; turn < 1'000 && writer_->healthy(); ++turn) {  // It may be trying just now.
    ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(1))).ok());
  }
  EXPECT_FALSE(writer_->healthy());
  auto user = decide(submit_input("a"));  // Is told at once.
  ASSERT_FALSE(user.ok());
  EXPECT_EQ(user.error().code, Errc::kFull);
  watch_.full = false;
  ASSERT_TRUE(loop_->block_on(gate.close()).ok());
  ASSERT_TRUE(joined.has_value());
  EXPECT_TRUE(joined->ok());
  EXPECT_EQ(writer_->state().nodes.size(), 1U);
  EXPECT_TRUE(writer_->healthy());
}

model::Input study_input(const std::string& id) {
  model::StepSpec tune = testing::step("tune", 3);
  tune.run = model::ExternalTrials();
  tune.samples.reset();
  model::Parameter x;
  x.name = "x";
  x.kind = model::Parameter::Kind::kUniform;
  x.low = "0";
  x.high = "1";
  tune.params = {x};
  tune.search.emplace();
  tune.search->method = model::SearchSpec::Method::kRandom;
  tune.search->objectives = {{"loss", false}};
  tune.search->max_trials = 3;
  model::Submit input;
  input.job = JobId(id);
  input.spec = testing::submission({tune}).spec;
  return input;
}

// Found by reading: refused once, it was never said again, and the leases of clients that had been
// cut off by the daemon's own absence ended with the next decision.
TEST_F(LogWriterTest, SaysThatItHasRecoveredOnceThereIsRoom) {
  ASSERT_TRUE(decide(study_input("s")).ok());
  model::TrialCall ask;
  ask.job = JobId("s");
  ask.lease = Duration::minutes(1);
  ask.holder = "client";
  ASSERT_TRUE(decide(ask).ok());
  ASSERT_EQ(writer_->brain().state().lanes.size(), 1U);
  const auto batches = watch_.storage->batches.size();
  watch_.full = true;
  Asked recovered(*loop_, *writer_, model::Recovered());
  turn();
  EXPECT_FALSE(recovered.answer().has_value()) << recovered.answer()->error().to_string();
  watch_.full = false;
  await_answer(recovered);
  ASSERT_TRUE(recovered.answer().has_value());
  EXPECT_TRUE(recovered.answer()->ok());
  EXPECT_EQ(watch_.storage->batches.size(), batches + 1) << "the lease is renewed";
}

TEST_F(LogWriterTest, DecidesNoReportAgainAtOnce) {
  close();
  options_.retry_after = Duration::hours(1);
  open();
  watch_.full = true;
  const Asked node(*loop_, *writer_, join_input("n1"));
  turn();
  EXPECT_EQ(watch_.refused, 1);
  EXPECT_FALSE(node.answer());
  close();
}

TEST_F(LogWriterTest, OpensTheLogAnewAfterAnIoError) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  watch_.storage->next_append = store::AppendFault::kTorn;
  auto failed = decide(submit_input("b"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Errc::kIo);
  auto next = decide(submit_input("c"));
  ASSERT_TRUE(next.ok()) << next.error().to_string();
  EXPECT_EQ(watch_.openings, 2);
  EXPECT_EQ(writer_->state().jobs.count(JobId("b")), 0U);
  EXPECT_EQ(writer_->state().jobs.count(JobId("c")), 1U);
}

TEST_F(LogWriterTest, TriesToOpenUntilItCan) {
  watch_.broken = true;
  const Asked asked(*loop_, *writer_, submit_input("a"));
  turn();
  EXPECT_FALSE(writer_->healthy());
  EXPECT_FALSE(asked.answer()) << "nobody knows yet what the disk has";
  clock_.advance(Duration::seconds(9));
  EXPECT_EQ(writer_->silent_for(), Duration::seconds(9)) << "though each try is answered";
  ASSERT_TRUE(writer_->opening_error());
  EXPECT_EQ(writer_->opening_error()->message, "the disk is gone");
  watch_.broken = false;
  auto next = decide(submit_input("b"));  // Waits for the log to be there.
  ASSERT_TRUE(next.ok()) << next.error().to_string();
  ASSERT_TRUE(asked.answer());
  EXPECT_EQ(asked.answer()->error().code, Errc::kIo);
  EXPECT_EQ(writer_->silent_for(), std::nullopt);
  EXPECT_FALSE(writer_->opening_error());
}

TEST_F(LogWriterTest, AcceptsWhatTheDiskKeptThoughItSaidOtherwise) {
  ASSERT_TRUE(decide(join_input("n1")).ok());
  watch_.storage->next_append = store::AppendFault::kKept;
  auto outcome = decide(submit_input("a"));
  ASSERT_TRUE(outcome.ok()) << outcome.error().to_string();
  EXPECT_EQ(outcome->job, JobId("a"));
  EXPECT_EQ(writer_->state().jobs.count(JobId("a")), 1U);
  EXPECT_EQ(watch_.openings, 2);
  ASSERT_TRUE(decide(submit_input("b")).ok());
  expect_all_seen();
}

TEST_F(LogWriterTest, DecidesNoReportAgainThatTheDiskKept) {
  watch_.storage->next_append = store::AppendFault::kKept;
  ASSERT_TRUE(decide(join_input("n1")).ok());
  EXPECT_TRUE(writer_->healthy());
  EXPECT_EQ(watch_.storage->batches.size(), 1U);
  expect_all_seen();
}

TEST_F(LogWriterTest, AcceptsNothingThatWasDecidedBesideACommitThatFailed) {
  for (const store::AppendFault fault : {store::AppendFault::kKept, store::AppendFault::kIo}) {
    const bool kept = fault == store::AppendFault::kKept;
    const std::string name = kept ? "kept" : "lost";
    watch_.storage->next_append = fault;
    watch_.held.lock();
    const Asked first(*loop_, *writer_, submit_input(name));
    turn();
    const Asked repeat(*loop_, *writer_, cancel_input("unknown"));  // Rests on the first alone.
    const Asked second(*loop_, *writer_, submit_input(name + "2"));
    turn();
    watch_.held.unlock();
    for (const Asked* asked : {&first, &repeat, &second}) await_answer(*asked);
    ASSERT_TRUE(first.answer() && repeat.answer() && second.answer());
    EXPECT_EQ(first.answer()->ok(), kept);
    EXPECT_EQ(repeat.answer()->ok(), kept);
    ASSERT_FALSE(second.answer()->ok());
    EXPECT_NE(second.answer()->error().message.find("nothing was accepted"), std::string::npos);
    EXPECT_EQ(writer_->state().jobs.count(JobId(name)), kept ? 1U : 0U);
    EXPECT_EQ(writer_->state().jobs.count(JobId(name + "2")), 0U);
  }
  ASSERT_TRUE(decide(submit_input("next")).ok());
  expect_all_seen();
}

TEST_F(LogWriterTest, TellsABatchFromAnotherOfItsNumber) {
  ASSERT_TRUE(decide(submit_input("b")).ok());
  const store::MemoryStorage other = *watch_.storage;
  close();
  *watch_.storage = {};
  watcher_ = {};
  open();
  watch_.away = true;
  watch_.storage->next_append = store::AppendFault::kIo;
  const Asked asked(*loop_, *writer_, submit_input("a"));
  turn();
  *watch_.storage = other;  // As if an earlier one of this number had come to light.
  watch_.away = false;
  await_answer(asked);
  ASSERT_TRUE(asked.answer());
  ASSERT_FALSE(asked.answer()->ok());
  EXPECT_NE(asked.answer()->error().message.find("nothing was accepted"), std::string::npos);
}

TEST_F(LogWriterTest, SaysThatNobodyKnowsWhenTheLogCannotBeReadAnyMore) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  watch_.storage->batches.begin()->second.input = "{}";
  watch_.storage->next_append = store::AppendFault::kKept;
  auto asked = decide(submit_input("b"));
  ASSERT_FALSE(asked.ok());
  EXPECT_NE(asked.error().message.find("it is not known whether"), std::string::npos);
  EXPECT_NE(asked.error().hint.find("look before you ask again"), std::string::npos);
  EXPECT_TRUE(writer_->is_dead());
}

TEST_F(LogWriterTest, KeepsNobodyWaitingWhenItStopsBesideALogThatIsAway) {
  watch_.storage->next_append = store::AppendFault::kKept;
  watch_.away = true;
  const Asked asked(*loop_, *writer_, submit_input("a"));
  const Asked node(*loop_, *writer_, join_input("n1"));
  turn();
  close();
  await_answer(asked);
  await_answer(node);
  ASSERT_TRUE(asked.answer() && node.answer());
  ASSERT_FALSE(asked.answer()->ok());
  EXPECT_NE(asked.answer()->error().message.find("it is not known whether"), std::string::npos);
  EXPECT_FALSE(node.answer()->ok());
  EXPECT_TRUE(watcher_.deaths.empty()) << "it stops anyway";
  watch_.away = false;
  open();
  EXPECT_EQ(writer_->state().jobs.count(JobId("a")), 1U);
}

TEST_F(LogWriterTest, DiesWhenItIsToGiveUpALogThatIsAway) {
  watch_.broken = true;
  const Asked asked(*loop_, *writer_, submit_input("a"));
  turn();
  EXPECT_FALSE(writer_->is_dead());
  writer_->give_up();
  await_answer(asked);
  EXPECT_TRUE(writer_->is_dead());
  ASSERT_TRUE(asked.answer());
  EXPECT_EQ(watcher_.deaths.size(), 1U);
  EXPECT_FALSE(loop_->block_on(writer_->settled()).ok());
}

TEST_F(LogWriterTest, GivesUpNoLogThatOpens) {
  writer_->give_up();
  watch_.storage->next_append = store::AppendFault::kTorn;
  EXPECT_FALSE(decide(submit_input("a")).ok());
  EXPECT_TRUE(decide(submit_input("b")).ok());
}

TEST_F(LogWriterTest, DiesWhenAnotherHoldsTheLog) {
  auto other = MUST(store::open_memory_log(watch_.storage));
  ASSERT_TRUE(other->acquire_lease().ok());
  auto refused = decide(submit_input("a"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kPrecondition);
  EXPECT_FALSE(decide(join_input("n1")).ok());
  EXPECT_FALSE(loop_->block_on(writer_->settled()).ok());
  ASSERT_EQ(watcher_.deaths.size(), 1U);
  EXPECT_EQ(watcher_.deaths.front().code, Errc::kPrecondition);
}

TEST_F(LogWriterTest, RefusesTheDamagedLogByItsBatch) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  close();
  watch_.storage->snapshots.clear();
  watch_.storage->batches.begin()->second.events = "[{\"type\":\"nonsense\"}]";
  auto opened =
      loop_->block_on(LogWriter::open(*loop_, clock_, testing::watched_opener(watch_), options_));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::kCorrupt);
}

TEST_F(LogWriterTest, FoldsTheSameStateAfterACrashWithEachOpening) {
  ASSERT_TRUE(decide(join_input("n1")).ok());
  ASSERT_TRUE(decide(submit_input("a")).ok());
  ASSERT_TRUE(decide(cancel_input("a")).ok());
  const std::string before = state_text();
  const EventSeq version = writer_->version_of(JobId("a"));
  auto left = testing::left_by_kill(watch_);
  close();
  watch_.storage = left;  // As a kill leaves it: without the snapshot that close() kept.
  open();
  EXPECT_EQ(state_text(), before);
  EXPECT_EQ(writer_->version_of(JobId("a")), version);
  EXPECT_EQ(writer_->epoch(), Epoch(2));
}

TEST_F(LogWriterTest, SnapshotsOnAStopAndOpensFromIt) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  const std::string before = state_text();
  close();
  ASSERT_EQ(watch_.storage->snapshots.size(), 1U);
  open();
  EXPECT_EQ(state_text(), before);
  close();
  EXPECT_EQ(watch_.snapshots, 1);  // Nothing happened since the last one.
}

Duration cpu_of_this_thread() {
  timespec used{};
  EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
  return Duration::millis(used.tv_sec * 1000 + used.tv_nsec / 1'000'000);
}

// The loop serves everybody, and many tasks in flight take long to copy.
TEST_F(LogWriterTest, ADueSnapshotIsCopiedBesideTheLoop) {
  model::Input many = submit_input("many");
  auto spec = std::make_shared<model::JobSpec>(*std::get<model::Submit>(many).spec);
  spec->steps[0].task_count = 4'000;
  spec->steps[0].samples = 4'000;
  std::get<model::Submit>(many).spec = spec;
  ASSERT_TRUE(decide(many).ok());
  for (int node = 0; node < 50; ++node) {
    model::Input join = join_input("node" + std::to_string(node));
    std::get<model::NodeJoin>(join).node.capacity.milli_cpus = 80'000;
    ASSERT_TRUE(decide(join).ok());
  }
  ASSERT_EQ(writer_->state().lanes.size(), 4'000U);
  close();
  options_.snapshot_every_events = 1;
  open();
  const int before = watch_.snapshots;
  const Duration begun = cpu_of_this_thread();
  for (int round = 0; round < 20; ++round) const brain::State copy = writer_->state();
  const Duration copying = cpu_of_this_thread() - begun;
  for (int round = 0; round < 1'000 && watch_.snapshots < before + 20; ++round) {
    ASSERT_TRUE(decide(submit_input("small" + std::to_string(round))).ok());
    ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(5))).ok());
  }
  ASSERT_GE(watch_.snapshots, before + 20);
  const Duration used = cpu_of_this_thread() - begun - copying;
  EXPECT_LT(used.millis() * 2, copying.millis()) << "the loop took part in copying";
}

// An asker waits while the state is copied, and no snapshot holds more than its batch says.
TEST_F(LogWriterTest, NothingIsDecidedWhileTheStateIsCopied) {
  options_.snapshot_every_events = 1;
  close();
  open();
  for (int round = 0; round < 30; ++round) {
    std::vector<std::unique_ptr<Asked>> asked;
    for (int each = 0; each < 10; ++each) {
      const std::string name = std::to_string(round) + "-" + std::to_string(each);
      asked.push_back(std::make_unique<Asked>(*loop_, *writer_, submit_input(name)));
      const Duration pause = each % 3 == 0 ? Duration::millis(1) : Duration();
      ASSERT_TRUE(loop_->block_on(loop_->sleep(pause)).ok());
    }
  }
  close();  // Else one may still be saved while they are looked at.
  ASSERT_FALSE(watch_.storage->snapshots.empty());
  for (const auto& [through, snapshot] : watch_.storage->snapshots) {
    const brain::State kept = MUST(brain::decode_state(snapshot.text));
    const store::Batch& last = watch_.storage->batches.at(through);
    EXPECT_EQ(kept.last_event.value() + 1, last.next_event().value());
  }
}

TEST_F(LogWriterTest, SnapshotsEverySoManyEvents) {
  close();
  options_.snapshot_every_events = 10;
  open();
  int job = 0;
  for (int round = 1; round <= 3; ++round) {
    for (int more = 0; more < 10; ++more) {
      ASSERT_TRUE(decide(submit_input("job" + std::to_string(++job))).ok());
    }
    for (int turn = 0; turn < 5'000 && watch_.snapshots < round; ++turn) {
      ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration::millis(1))).ok());
    }
    ASSERT_GE(watch_.snapshots, round);
  }
  const std::string before = state_text();
  auto left = testing::left_by_kill(watch_);
  close();
  watch_.storage = left;
  open();
  EXPECT_EQ(state_text(), before);
}

TEST_F(LogWriterTest, ArchivesTheRecordOfTheOldestFinishedJob) {
  const auto count = static_cast<int>(brain::Limits().finished_jobs) + 1;
  for (int job = 0; job < count; ++job) {
    const std::string id = "job" + std::to_string(10'000 + job);
    ASSERT_TRUE(decide(submit_input(id)).ok());
    ASSERT_TRUE(decide(cancel_input(id)).ok());
  }
  ASSERT_EQ(watch_.storage->archive.size(), 2U) << "its document and its record";
  const store::ArchiveEntry& entry = watch_.storage->archive.at("job10000");
  EXPECT_EQ(entry.sort_key, "default/job10000");
  EXPECT_NE(entry.text.find("\"status\":\"CANCELLED\""), std::string::npos);
  EXPECT_NE(entry.text.find("\"steps\":["), std::string::npos);
}

TEST_F(LogWriterTest, ArchivesRecordsThatAnEarlierProcessFinished) {
  const auto count = static_cast<int>(brain::Limits().finished_jobs);
  for (int job = 0; job < count; ++job) {
    const std::string id = "job" + std::to_string(10'000 + job);
    ASSERT_TRUE(decide(submit_input(id)).ok());
    ASSERT_TRUE(decide(cancel_input(id)).ok());
  }
  close();
  open();
  ASSERT_TRUE(decide(submit_input("z")).ok());
  ASSERT_TRUE(decide(cancel_input("z")).ok());
  ASSERT_EQ(watch_.storage->archive.size(), 2U);
  EXPECT_NE(watch_.storage->archive.at("job10000").text.find("CANCELLED"), std::string::npos);
}

TEST_F(LogWriterTest, NeverGoesBackInTime) {
  ASSERT_TRUE(decide(submit_input("a")).ok());
  const Time before = writer_->state().now;
  clock_.set_wall(before - Duration::hours(5));
  ASSERT_TRUE(decide(submit_input("b")).ok());
  EXPECT_GE(writer_->state().now, before);
}

TEST_F(LogWriterTest, CommitsWhatWasDecidedBeforeAStop) {
  std::vector<Async<Outcome>> works;
  works.push_back(writer_->decide(submit_input("a")));
  auto all = async::when_all(*loop_, std::move(works));
  async::Gate gate(*loop_);
  struct Both {
    static Async<void> run(Async<std::vector<Outcome>> work, bool& ok) {
      Result<std::vector<Outcome>> done = co_await std::move(work);
      ok = done.ok();
      co_return {};
    }
  };
  bool ok = false;
  ASSERT_TRUE(loop_->spawn(gate, Both::run(std::move(all), ok)).ok());
  ASSERT_TRUE(loop_->block_on(loop_->sleep(Duration())).ok());
  close();
  ASSERT_TRUE(loop_->block_on(gate.close()).ok());
  EXPECT_TRUE(ok);
  EXPECT_EQ(watch_.storage->batches.size(), 1U);
}

// Random requests while the disk fails at random: what was acknowledged is there after a crash,
// what was refused is not, and the state is the fold of the log.
class LogWriterChaos : public LogWriterTest, public ::testing::WithParamInterface<int> {};

TEST_P(LogWriterChaos, KeepsWhatItAcknowledgedAndNothingElse) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::set<std::string> accepted;
  std::set<std::string> refused;
  for (int round = 0; round < 60; ++round) {
    const unsigned fault = random() % 8;
    if (fault == 0) watch_.storage->next_append = store::AppendFault::kFull;
    if (fault == 1) watch_.storage->next_append = store::AppendFault::kTorn;
    if (fault == 2) watch_.storage->next_append = store::AppendFault::kIo;
    if (fault == 3) watch_.storage->next_append = store::AppendFault::kKept;
    const std::string id = "job" + std::to_string(round);
    auto outcome = decide(submit_input(id));
    (outcome.ok() && !outcome->refusal ? accepted : refused).insert(id);
    if (random() % 8 != 0) continue;
    auto left = testing::left_by_kill(watch_);
    close();
    watch_.storage = left;
    open();
  }
  const std::string live = state_text();
  close();
  auto log = MUST(store::open_memory_log(watch_.storage));
  const Recovered recovered = MUST(recover(*log));
  EXPECT_EQ(brain::encode_state(recovered.brain.state()), live);
  for (const std::string& id : accepted) {
    EXPECT_EQ(recovered.brain.state().jobs.count(JobId(id)), 1U) << id;
  }
  for (const std::string& id : refused) {
    EXPECT_EQ(recovered.brain.state().jobs.count(JobId(id)), 0U) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LogWriterChaos, ::testing::Range(1, 9));

// The event after the last one that who reads can see.
Result<EventSeq> end_of(store::LogReader& log) { return TRY(log.kept()).head.next_event; }

TEST_F(LogWriterTest, WhoReadsWaitsForNoCommit) {
  ASSERT_TRUE(decide(submit_input("job1")).ok());
  watch_.held.lock();  // The disk does not answer to who writes.
  {
    const Asked asked(*loop_, *writer_, submit_input("job2"));
    turn();
    EXPECT_FALSE(asked.answer().has_value());
    const EventSeq durable = MUST(loop_->block_on(writer_->read<EventSeq>(end_of)));
    EXPECT_LE(durable, writer_->state().last_event) << "only what is durable is read";
    clock_.advance(Duration::seconds(2));
    EXPECT_GE(writer_->silent_for(), Duration::seconds(2)) << "an answer to who reads is none";
    watch_.held.unlock();
  }
  turn();
  expect_all_seen();
}

// A full disk while the log is opened anew, at any of its steps: it is opened and read in the end.
class LogWriterFullDisk : public LogWriterTest, public ::testing::WithParamInterface<bool> {};

TEST_P(LogWriterFullDisk, ALogThatCouldNotBeOpenedAnewIsReadInTheEnd) {
  std::atomic<int> fails{0};
  const auto full_once = [&fails]() -> Result<void> {
    if (fails.exchange(0) == 0) return {};
    return Error(Errc::kFull, "no space left on the disk");
  };
  close();
  options_.fold = [full_once, fold = options_.fold](store::EventLog& log,
                                                    brain::Limits limits) -> Result<Recovered> {
    if (!GetParam()) TRY(full_once());
    return fold(log, limits);
  };
  LogOpener opener = [full_once, open = testing::watched_opener(
                                     watch_)]() -> Result<std::unique_ptr<store::EventLog>> {
    if (GetParam()) TRY(full_once());
    return open();
  };
  writer_ = MUST(loop_->block_on(LogWriter::open(*loop_, clock_, std::move(opener), options_)));
  writer_->observe(watcher_);
  fails = 1;
  watch_.storage->next_append = store::AppendFault::kIo;
  EXPECT_FALSE(decide(submit_input("job1")).ok());
  ASSERT_TRUE(decide(submit_input("job2")).ok());
  EXPECT_EQ(fails, 0);
  EXPECT_EQ(MUST(loop_->block_on(writer_->read<EventSeq>(end_of))).value(),
            writer_->state().last_event.value() + 1);
}

TEST_F(LogWriterTest, WhoReadsWaitsForALogThatIsBeingOpenedAnew) {
  ASSERT_TRUE(decide(submit_input("job1")).ok());
  watch_.away = true;
  watch_.storage->next_append = store::AppendFault::kTorn;
  const Asked refused(*loop_, *writer_, submit_input("job2"));
  turn();
  ASSERT_FALSE(writer_->healthy());
  async::Gate gate(*loop_);
  std::optional<Result<EventSeq>> seen;
  const auto look = [](LogWriter& writer, std::optional<Result<EventSeq>>& into) -> Async<void> {
    into.emplace(co_await writer.read<EventSeq>(end_of));
    co_return {};
  };
  ASSERT_TRUE(loop_->spawn(gate, look(*writer_, seen)).ok());
  turn();
  EXPECT_FALSE(seen.has_value());
  watch_.away = false;
  turn();
  EXPECT_TRUE(loop_->block_on(gate.close()).ok());
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(MUST(std::move(*seen)).value(), writer_->state().last_event.value() + 1);
}

TEST_F(LogWriterTest, WhoReadsIsToldAtOnceThatTheLogIsDead) {
  auto other = MUST(store::open_memory_log(watch_.storage));
  ASSERT_TRUE(other->acquire_lease().ok());
  EXPECT_FALSE(decide(submit_input("job1")).ok());
  const Result<EventSeq> seen = loop_->block_on(writer_->read<EventSeq>(end_of));
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.error().code, Errc::kPrecondition);
}

INSTANTIATE_TEST_SUITE_P(OpenerOrFold, LogWriterFullDisk, ::testing::Bool());

TEST_F(LogWriterTest, WhoReadsReadsTheLogThatWasOpenedAnew) {
  ASSERT_TRUE(decide(submit_input("job1")).ok());
  watch_.storage->next_append = store::AppendFault::kIo;
  EXPECT_FALSE(decide(submit_input("job2")).ok());
  ASSERT_TRUE(decide(submit_input("job3")).ok());
  EXPECT_EQ(MUST(loop_->block_on(writer_->read<EventSeq>(end_of))).value(),
            writer_->state().last_event.value() + 1);
  EXPECT_EQ(watch_.openings, 2);
}

}  // namespace
}  // namespace runnel::control
