#include "control/controller.h"

#include <gtest/gtest.h>

#include "async/together.h"
#include "control/testing/home.h"

namespace runnel::control {
namespace {

using model::Status;
using testing::FakeNode;
using testing::Home;
using testing::step;
using testing::Turnstile;
using Behaviour = FakeNode::Behaviour;
using Verb = model::JobRequest::Verb;

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() { home_.open(); }
  ~ControllerTest() override {
    EXPECT_TRUE(home_.wait(gate_.close()).ok());
    while (!nodes_.empty()) drop_node();
  }

  FakeNode& node(Behaviour behaviour, std::int64_t cpus = 4, const std::string& name = "n1") {
    nodes_.push_back(std::make_unique<FakeNode>(*home_.loop, home_.control(), name, behaviour));
    EXPECT_TRUE(home_.wait(nodes_.back()->join(cpus)).ok());
    return *nodes_.back();
  }
  void drop_node() {
    EXPECT_TRUE(home_.wait(nodes_.back()->stop()).ok());
    nodes_.pop_back();
  }
  bool ended(const JobId& job) { return model::is_end(home_.status(job)); }

  // Lets whatever is due on the loop happen.
  void turn() { EXPECT_TRUE(home_.wait(home_.loop->sleep(Duration::millis(40), {})).ok()); }

  Home home_;
  async::Gate gate_{*home_.loop};
  std::vector<std::unique_ptr<FakeNode>> nodes_;
};

// The answer is of no interest.
Async<void> take(Async<Answer> call) {
  Result<Answer> answer = co_await std::move(call);
  co_return answer.ok() ? Result<void>() : Result<void>(answer.error());
}

// Neither the answer nor its error is of interest.
Async<void> take_whatever(Async<Answer> call) {
  (void)co_await std::move(call);
  co_return {};
}

TEST_F(ControllerTest, RunsAJobToItsEnd) {
  FakeNode& worker = node(Behaviour::kEcho);
  const JobId job = home_.submit({step("a", 25), step("b")});
  home_.until([&] { return ended(job); });
  EXPECT_EQ(home_.status(job), Status::kSucceeded);
  // The last end is known when it is decided, and told to the node when it is durable.
  home_.until([&] { return worker.forgotten.size() >= 26U; });
  EXPECT_EQ(worker.forgotten.size(), 26U);
  EXPECT_EQ(worker.epoch, Epoch(1));
  EXPECT_FALSE(home_.control().unfinished());
}

TEST_F(ControllerTest, GivesAFailureWithItsDocument) {
  node(Behaviour::kEcho).code_of = [](const model::AttemptRef&) { return 42; };
  const JobId job = home_.submit({step("a")});
  home_.until([&] { return ended(job); });
  EXPECT_EQ(home_.status(job), Status::kFailed);
}

TEST_F(ControllerTest, OrdersLeaveOnlyWhenTheirBatchIsDurable) {
  FakeNode& worker = node(Behaviour::kSilent);
  home_.watch.full = true;
  auto refused =
      home_.wait(home_.control().submit(testing::submission({step("a")}), testing::ann(), ""));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(worker.started.empty());
  home_.watch.full = false;
  home_.submit({step("a")});
  EXPECT_EQ(worker.started.size(), 1U);
}

TEST_F(ControllerTest, StopsWhatIsCancelledAndHalted) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = home_.submit({step("a")});
  ASSERT_EQ(worker.started.size(), 1U);
  const model::AttemptRef attempt = worker.started.front().attempt;
  ASSERT_TRUE(home_.wait(worker.report({worker.running(attempt)})).ok());
  auto halted = home_.call(Verb::kHalt, job);
  ASSERT_TRUE(halted.ok());
  EXPECT_FALSE(halted->outcome.refusal);
  ASSERT_EQ(worker.stopped.size(), 1U);
  EXPECT_EQ(worker.stopped.front().reason, model::StopReason::kHalted);
  EXPECT_TRUE(home_.control().unfinished());  // Its attempt is still ending.
  model::RankReport end = worker.ended(attempt, 0);
  end.signal = 15;
  end.cause = model::EndCause::kStopped;
  ASSERT_TRUE(home_.wait(worker.report({end})).ok());
  EXPECT_EQ(home_.status(job), Status::kPaused);
  EXPECT_FALSE(home_.control().unfinished());
  ASSERT_TRUE(home_.call(Verb::kResume, job).ok());
  EXPECT_EQ(worker.started.size(), 2U);
}

TEST_F(ControllerTest, AnswersWithTheDocumentAsItWasDecided) {
  auto answer =
      home_.wait(home_.control().submit(testing::submission({step("a")}), testing::ann(), "key"));
  ASSERT_TRUE(answer.ok());
  EXPECT_NE(answer->document.find(answer->outcome.job.str()), std::string::npos);
  auto again =
      home_.wait(home_.control().submit(testing::submission({step("a")}), testing::ann(), "key"));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->outcome.repeated);
  EXPECT_EQ(again->outcome.job, answer->outcome.job);
  EXPECT_EQ(again->document, answer->document);
  auto other = home_.wait(
      home_.control().submit(testing::submission({step("a")}, "other"), testing::ann(), "key"));
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->outcome.refusal);
  EXPECT_EQ(other->outcome.refusal->code, Errc::kInvalid);
}

TEST_F(ControllerTest, RefusesACallOnAnOlderVersion) {
  auto answer =
      home_.wait(home_.control().submit(testing::submission({step("a")}), testing::ann(), ""));
  JobCall stale;
  stale.verb = Verb::kCancel;
  stale.job = answer->outcome.job;
  stale.version = EventSeq(answer->version.value() + 1);
  auto refused = home_.wait(home_.control().call(stale));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kPrecondition);
  stale.version = answer->version;
  EXPECT_TRUE(home_.wait(home_.control().call(stale)).ok());
  EXPECT_EQ(home_.status(stale.job), Status::kCancelled);
}

TEST_F(ControllerTest, GivesANodeThatJoinsWhatItLacks) {
  const JobId job = home_.submit({step("a", 2)});
  FakeNode& worker = node(Behaviour::kSilent);
  ASSERT_EQ(
      std::set<model::AttemptRef>({worker.started.at(0).attempt, worker.started.at(1).attempt})
          .size(),
      2U);
  const model::AttemptRef first = worker.started.at(0).attempt;
  worker.started.clear();
  model::AttemptRef orphan = first;
  orphan.task.job = JobId("0000000000zz");
  const std::vector<model::RankReport> inventory = {worker.running(first), worker.running(orphan)};
  ASSERT_TRUE(home_.wait(worker.join(4, inventory)).ok());
  ASSERT_EQ(worker.stopped.size(), 1U);
  EXPECT_EQ(worker.stopped.front().attempt, orphan);
  for (const model::StartOrder& order : worker.started) EXPECT_NE(order.attempt, first);
  EXPECT_EQ(home_.status(job), Status::kRunning);
}

TEST_F(ControllerTest, ForgetsAgainWhatIsReportedAgain) {
  FakeNode& worker = node(Behaviour::kSilent);
  home_.submit({step("a")});
  const model::AttemptRef attempt = worker.started.front().attempt;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(attempt, 0)})).ok());
  EXPECT_EQ(worker.forgotten, std::vector<model::AttemptRef>{attempt});
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(attempt, 0)})).ok());
  EXPECT_EQ(worker.forgotten.size(), 2U);
}

TEST_F(ControllerTest, RetriesAfterItsBackOffWithoutBeingAsked) {
  FakeNode& worker = node(Behaviour::kSilent);
  model::StepSpec again = step("a");
  again.retry.max = 1;
  again.retry.backoff_min = Duration::millis(20);
  again.retry.backoff_max = Duration::millis(20);
  home_.submit({again});
  const model::AttemptRef attempt = worker.started.front().attempt;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(attempt, 1)})).ok());
  EXPECT_EQ(worker.started.size(), 1U);
  home_.clock.advance(Duration::seconds(1));
  home_.until([&] { return worker.started.size() == 2U; });
}

TEST_F(ControllerTest, RetriesWhatBecameDueWhileItWasDead) {
  FakeNode& worker = node(Behaviour::kSilent);
  model::StepSpec again = step("a");
  again.retry.max = 1;
  again.retry.backoff_min = Duration::seconds(4);
  again.retry.backoff_max = Duration::seconds(4);
  const JobId job = home_.submit({again});
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started.front().attempt, 1)})).ok());
  drop_node();
  home_.crash();
  home_.clock.advance(Duration::seconds(6));
  home_.open();
  EXPECT_EQ(home_.status(job), Status::kRunning);
  FakeNode& same = *nodes_.emplace_back(
      std::make_unique<FakeNode>(*home_.loop, home_.control(), "n1", Behaviour::kSilent));
  ASSERT_TRUE(home_.wait(same.join(4)).ok());
  home_.until([&] { return same.started.size() == 1U; });
}

TEST_F(ControllerTest, WakesAgainWhenTheDiskTookNothing) {
  FakeNode& worker = node(Behaviour::kSilent);
  model::StepSpec again = step("a");
  again.retry.max = 1;
  again.retry.backoff_min = Duration::millis(20);
  again.retry.backoff_max = Duration::millis(20);
  home_.submit({again});
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started.front().attempt, 1)})).ok());
  home_.watch.full = true;
  home_.clock.advance(Duration::seconds(1));
  const int tried = home_.watch.refused;
  home_.until([&] { return home_.watch.refused > tried; });
  home_.watch.full = false;
  home_.until([&] { return worker.started.size() == 2U; });
}

TEST_F(ControllerTest, GoesOnWhereAKilledOneStopped) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = home_.submit({step("a", 2)});
  const model::AttemptRef first = worker.started.at(0).attempt;
  drop_node();
  home_.crash();
  home_.open();
  EXPECT_EQ(home_.writer().epoch(), Epoch(2));
  FakeNode& same = *nodes_.emplace_back(
      std::make_unique<FakeNode>(*home_.loop, home_.control(), "n1", Behaviour::kSilent));
  ASSERT_TRUE(home_.wait(same.join(4, {same.running(first)})).ok());
  ASSERT_EQ(same.started.size(), 1U);  // The other one alone.
  EXPECT_EQ(same.epoch, Epoch(2));
  ASSERT_TRUE(
      home_.wait(same.report({same.ended(first, 0), same.ended(same.started.front().attempt, 0)}))
          .ok());
  EXPECT_EQ(home_.status(job), Status::kSucceeded);
}

TEST_F(ControllerTest, DecidesAReportAfterTheJoinBeforeIt) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = home_.submit({step("a")});
  const model::AttemptRef attempt = worker.started.front().attempt;
  worker.life = "2";  // The runner began anew and found its attempt.
  home_.watch.full = true;
  std::vector<Async<void>> both;
  both.push_back(worker.join(4, {worker.running(attempt)}));
  both.push_back(worker.report({worker.ended(attempt, 0)}));
  async::Timer later(*home_.loop);
  later.start(Duration::millis(20), [this] { home_.watch.full = false; });
  ASSERT_TRUE(home_.wait(async::when_all(*home_.loop, std::move(both))).ok());
  EXPECT_EQ(home_.status(job), Status::kSucceeded);
}

TEST_F(ControllerTest, StartsNothingAgainThatEndedWhileAJoinWasDecided) {
  home_.stop();
  home_.options.log.commit_interval_min = Duration::millis(10);  // So that inputs gather.
  home_.open();
  FakeNode& worker = node(Behaviour::kEcho);
  const auto submit = [&] {
    return take(home_.control().submit(testing::submission({step("a")}), testing::ann(), ""));
  };
  {
    // The join and a job become durable together; what comes of the job and one more job with the
    // next append.
    Turnstile log(home_);
    Result<void> begun = home_.loop->spawn(gate_, submit());
    turn();
    begun = home_.loop->spawn(gate_, worker.join(4));
    begun = home_.loop->spawn(gate_, submit());
    turn();
    log.let_one_through();
    turn();
    begun = home_.loop->spawn(gate_, submit());
    turn();
  }
  home_.until([&] { return worker.forgotten.size() >= 3U; });
  turn();
  EXPECT_EQ(worker.started_twice, std::vector<model::AttemptRef>());
}

TEST_F(ControllerTest, DecidesOnlyTheNewestOfTheJoinsThatWaitForTheDisk) {
  FakeNode& worker = node(Behaviour::kSilent);
  home_.submit({step("a")});
  const model::AttemptRef attempt = worker.started.front().attempt;
  home_.watch.full = true;
  const node::UpSequence first = worker.next_up();
  const node::UpSequence second = worker.next_up();
  Result<void> older;
  Result<void> newer;
  int decided = 0;
  const auto keep = [](Async<void> join, Result<void>* into, int* count) -> Async<void> {
    *into = co_await std::move(join);
    ++*count;
    co_return {};
  };
  worker.life = "2";
  ASSERT_TRUE(home_.loop->spawn(gate_, keep(worker.join_as(first, 4, {}), &older, &decided)).ok());
  ASSERT_TRUE(home_.loop
                  ->spawn(gate_, keep(worker.join_as(second, 4, {worker.running(attempt)}), &newer,
                                      &decided))
                  .ok());
  turn();
  home_.watch.full = false;
  home_.until([&] { return decided == 2; });
  EXPECT_EQ(home_.control().state().nodes.at(NodeId("n1")).incarnation.str(), "2");
  EXPECT_FALSE(older.ok());
  EXPECT_TRUE(newer.ok());
  EXPECT_TRUE(brain::is_live(home_.control().state(), attempt)) << "the newer inventory has it";
}

TEST_F(ControllerTest, RefusesAJoinThatIsOlderThanAReportItTook) {
  FakeNode& worker = node(Behaviour::kSilent);
  const node::UpSequence late = worker.next_up();
  home_.submit({step("a")});
  const model::AttemptRef attempt = worker.started.front().attempt;
  ASSERT_TRUE(home_.wait(worker.report({worker.running(attempt)})).ok());
  worker.started.clear();
  EXPECT_FALSE(home_.wait(worker.join_as(late, 4, {})).ok());
  EXPECT_TRUE(worker.started.empty());
}

TEST_F(ControllerTest, PassesOverAReportThatIsOlderThanAJoin) {
  FakeNode& worker = node(Behaviour::kSilent);
  home_.submit({step("a")});
  const model::AttemptRef attempt = worker.started.front().attempt;
  const node::UpSequence late = worker.next_up();
  ASSERT_TRUE(home_.wait(worker.join(4, {worker.running(attempt)})).ok());
  ASSERT_TRUE(home_.wait(worker.report_as(late, {worker.ended(attempt, 1)})).ok());
  EXPECT_TRUE(brain::is_live(home_.control().state(), attempt));
}

TEST_F(ControllerTest, SendsToLinksThatDetachWhileTheySend) {
  FakeNode& first = node(Behaviour::kSilent, 1, "n1");
  FakeNode& second = node(Behaviour::kSilent, 1, "n2");
  const JobId job = home_.submit({step("a", 2)});
  ASSERT_EQ(first.started.size() + second.started.size(), 2U);
  for (FakeNode* worker : {&first, &second}) {
    worker->started.clear();
    worker->on_orders = [this] {
      home_.control().nodes().detach(NodeId("n1"));
      home_.control().nodes().detach(NodeId("n2"));
    };
  }
  home_.watch.reserve = false;
  home_.watch.full = true;
  EXPECT_FALSE(home_.call(Verb::kCancel, job).ok());
  ASSERT_TRUE(home_.wait(home_.writer().settled()).ok());
  home_.watch.full = false;
  EXPECT_EQ(first.started.size() + second.started.size(), 1U);
}

// As a node of tests joins.
model::NodeInfo declared(std::int64_t cpus, const char* id) {
  model::NodeInfo info;
  info.id = NodeId(id);
  info.capacity.milli_cpus = cpus * 1000;
  info.capacity.memory = Bytes::gibi(8);
  return info;
}

TEST_F(ControllerTest, ADeclarationHoldsBeforeAnyNodeJoins) {
  FakeNode& worker = node(Behaviour::kSilent);
  home_.submit({step("a")});
  ASSERT_EQ(worker.started.size(), 1U);
  model::NodeInfo draining = declared(4, "n1");
  draining.draining = true;
  ASSERT_TRUE(home_.wait(home_.control().nodes().declare({draining, declared(4, "n0")})).ok());
  const JobId job = home_.submit({step("b")});
  turn();
  EXPECT_EQ(worker.started.size(), 1U);
  FakeNode& other = node(Behaviour::kSilent, 4, "n0");
  ASSERT_FALSE(other.started.empty());
  EXPECT_EQ(other.started.front().attempt.task.job, job);
}

TEST_F(ControllerTest, TakesTheWorkOfANodeThatTheHomeNoLongerHas) {
  FakeNode& gone = node(Behaviour::kSilent, 4, "gone");
  const JobId job = home_.submit({step("a")});
  ASSERT_EQ(gone.started.size(), 1U);
  drop_node();
  ASSERT_TRUE(home_.wait(home_.control().nodes().declare({declared(4, "n1")})).ok());
  EXPECT_EQ(home_.control().state().nodes.at(NodeId("gone")).up, false);
  EXPECT_EQ(home_.control().state().nodes.at(NodeId("gone")).reason, "Left");
  FakeNode& other = node(Behaviour::kSilent);
  ASSERT_FALSE(other.started.empty());
  EXPECT_EQ(other.started.front().attempt.task.job, job);
  ASSERT_TRUE(home_.wait(home_.control().nodes().declare({declared(4, "n1")})).ok());
  EXPECT_TRUE(home_.control().state().nodes.at(NodeId("n1")).up);
}

TEST_F(ControllerTest, EndsANoticeWhoseGiverIsGone) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = home_.submit({step("a")});
  auto& control = home_.control();
  ASSERT_TRUE(home_.wait(control.nodes().give_notice(NodeId("n1"), Duration::hours(1))).ok());
  ASSERT_EQ(worker.stopped.size(), 1U) << "what runs there is asked to end";
  EXPECT_FALSE(control.state().nodes.at(NodeId("n1")).takes_work());
  const auto twice = home_.wait(control.nodes().give_notice(NodeId("n1"), Duration()));
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, Errc::kConflict);
  // A daemon that starts again would wait an hour for somebody who no longer is; what was asked to
  // end still does, before it is started again.
  model::RankReport there;
  there.attempt = worker.started.front().attempt;
  ASSERT_TRUE(home_.wait(worker.join(1, {there})).ok());
  EXPECT_TRUE(control.state().nodes.at(NodeId("n1")).takes_work());
  EXPECT_EQ(worker.started.size(), 1U);
  EXPECT_EQ(home_.status(job), Status::kRunning);
  const auto unknown = home_.wait(control.nodes().give_notice(NodeId("n9"), Duration()));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Errc::kNotFound);
}

TEST_F(ControllerTest, FindsJobsByTheirBeginning) {
  const JobId first = home_.submit({step("a")});
  home_.clock.advance(Duration::hours(24 * 365));  // Another beginning.
  const JobId second = home_.submit({step("a")});
  auto& control = home_.control();
  EXPECT_EQ(MUST(home_.wait(control.find_job(first.str()))), first);
  std::size_t shared = 0;
  while (first.str()[shared] == second.str()[shared]) ++shared;
  EXPECT_EQ(MUST(home_.wait(control.find_job(second.str().substr(0, shared + 1)))), second);
  auto both = home_.wait(control.find_job(first.str().substr(0, shared)));
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().code, Errc::kConflict);
  EXPECT_NE(both.error().message.find(second.str()), std::string::npos);
  for (const char* none : {"zzzzzzzzzzzz", "train", "", "../../etc"}) {
    auto missing = home_.wait(control.find_job(none));
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Errc::kNotFound);
  }
}

TEST_F(ControllerTest, RemovesAJobsFoldersWithItsRecord) {
  FakeNode& worker = node(Behaviour::kEcho);
  const JobId job = home_.submit({step("a")});
  home_.until([&] { return ended(job); });
  ASSERT_TRUE(home_.call(Verb::kDelete, job).ok());
  EXPECT_EQ(worker.removed, std::vector<JobId>{job});
  EXPECT_EQ(home_.control().state().jobs.count(job), 0U);
}

TEST_F(ControllerTest, EndsWhenAnotherTakesTheLog) {
  auto other = MUST(store::open_memory_log(home_.watch.storage));
  ASSERT_TRUE(other->acquire_lease().ok());
  auto refused =
      home_.wait(home_.control().submit(testing::submission({step("a")}), testing::ann(), ""));
  EXPECT_FALSE(refused.ok());
  home_.until([&] { return home_.deaths.size() == 1U; });
}

// What is to stop is not watched: the order to start it left with a state that had it stopped, and
// that was rolled back.
TEST_F(ControllerTest, SendsWhatAVoidDecisionLeftOut) {
  FakeNode& worker = node(Behaviour::kSilent);
  model::StepSpec watched = step("a");
  watched.health.hang = model::HangPolicy{Duration::seconds(10), model::HealthAction::kKill};
  const auto& jobs = home_.control().state().jobs;
  {
    Turnstile log(home_);
    Result<void> begun = home_.loop->spawn(
        gate_, take(home_.control().submit(testing::submission({watched}), testing::ann(), "")));
    turn();
    JobCall cancel;
    cancel.verb = Verb::kCancel;
    cancel.job = jobs.begin()->first;
    begun = home_.loop->spawn(gate_, take_whatever(home_.control().call(std::move(cancel))));
    turn();
    log.let_one_through();
    turn();
    home_.watch.broken = true;
  }
  home_.until([&] { return !home_.writer().healthy(); });
  ASSERT_EQ(worker.started.size(), 1U);
  ASSERT_TRUE(worker.watched.empty()) << "else nothing was left out";
  home_.watch.broken = false;
  home_.until([&] { return home_.writer().healthy(); });
  ASSERT_EQ(worker.watched.size(), 1U);
  EXPECT_EQ(worker.watched[0].attempt, worker.started[0].attempt);
  EXPECT_TRUE(worker.stopped.empty());
}

// --- Secrets.

class SecretsTest : public ControllerTest {
 protected:
  static Submission with_secret() {
    model::StepSpec only = step("a");
    only.secrets = {{"TOKEN", "env:TOKEN"}};
    Submission made = testing::submission({only});
    made.secrets["env:TOKEN"] = "s3cret";
    return made;
  }
  Result<Answer> submit(Submission submission, const std::string& key = "") {
    return home_.wait(home_.control().submit(std::move(submission), testing::ann(), key));
  }
};

TEST_F(SecretsTest, AreStoredApartAndWipedWhenTheJobEnds) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  ASSERT_EQ(home_.secrets.kept().count(job), 1U);
  for (const auto& [seq, batch] : home_.watch.storage->batches) {
    EXPECT_EQ(batch.input.find("s3cret"), std::string::npos);
    EXPECT_EQ(batch.events.find("s3cret"), std::string::npos);
  }
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started[0].attempt, 0)})).ok());
  home_.until([&] { return home_.secrets.kept().empty(); });
}

TEST_F(SecretsTest, ThatCannotBeWipedAreToldOnce) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  home_.secrets.wipes = false;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started[0].attempt, 0)})).ok());
  home_.until([&] { return !home_.control().notices().empty(); });
  const std::vector<std::string> told = {"secrets/ still holds values of job " + job.str() +
                                         ", which needs them no more: the disk is read-only; the "
                                         "next start of the daemon tries again"};
  EXPECT_EQ(home_.control().notices(), told);
}

TEST_F(SecretsTest, AreNotKeptOfARefusedOrRepeatedSubmission) {
  const JobId job = MUST(submit(with_secret(), "key")).outcome.job;
  EXPECT_TRUE(MUST(submit(with_secret(), "key")).outcome.repeated);
  Submission other = with_secret();
  other.fingerprint = "other";
  EXPECT_TRUE(MUST(submit(std::move(other), "key")).outcome.refusal);
  home_.watch.full = true;
  EXPECT_FALSE(submit(with_secret()).ok());
  home_.watch.full = false;
  ASSERT_EQ(home_.secrets.kept().size(), 1U);
  EXPECT_EQ(home_.secrets.kept().begin()->first, job);
}

TEST_F(SecretsTest, AreKeptOfASubmissionThatTheDiskKeptThoughItSaidOtherwise) {
  FakeNode& worker = node(Behaviour::kSilent);
  home_.watch.storage->next_append = store::AppendFault::kKept;
  const Result<Answer> answer = submit(with_secret());
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  const JobId job = answer->outcome.job;
  EXPECT_NE(answer->document.find(job.str()), std::string::npos);
  EXPECT_EQ(home_.secrets.kept().count(job), 1U);
  EXPECT_FALSE(home_.secrets.is_unsettled(job));
  ASSERT_FALSE(worker.started.empty());
  EXPECT_EQ(worker.started.front().attempt.task.job, job);
  const model::AttemptRef attempt = worker.started.front().attempt;
  home_.watch.storage->next_append = store::AppendFault::kKept;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(attempt, 0)})).ok());
  EXPECT_EQ(home_.status(job), Status::kSucceeded);
  EXPECT_EQ(worker.forgotten, std::vector<model::AttemptRef>{attempt});
  home_.until([&] { return home_.secrets.kept().empty(); });
}

TEST_F(SecretsTest, AreNotKeptOfARetryThatTheDiskLost) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started[0].attempt, 1)})).ok());
  home_.until([&] { return home_.secrets.kept().empty(); });
  JobCall retry;
  retry.verb = Verb::kRetry;
  retry.job = job;
  retry.secrets["env:TOKEN"] = "again";
  home_.watch.storage->next_append = store::AppendFault::kIo;
  EXPECT_FALSE(home_.wait(home_.control().call(retry)).ok());
  EXPECT_TRUE(home_.secrets.kept().empty());
  EXPECT_EQ(home_.status(job), Status::kFailed);
}

TEST_F(SecretsTest, OfWhatNobodyKnowsToBeTakenAreLeftToTheNextStart) {
  for (const store::AppendFault fault : {store::AppendFault::kKept, store::AppendFault::kIo}) {
    home_.watch.storage->next_append = fault;
    home_.watch.away = true;
    Async<Answer> asked = home_.control().submit(with_secret(), testing::ann(), "");
    ASSERT_TRUE(home_.loop->spawn(gate_, take_whatever(std::move(asked))).ok());
    turn();
    ASSERT_EQ(home_.secrets.kept().size(), 1U);
    home_.control().give_up();
    turn();
    home_.stop();
    EXPECT_EQ(home_.secrets.kept().size(), 1U);
    home_.watch.away = false;
    home_.open();
    const bool kept = fault == store::AppendFault::kKept;
    ASSERT_EQ(home_.secrets.kept().size(), kept ? 1U : 0U);
    ASSERT_EQ(home_.control().state().jobs.size(), 1U);
    if (!kept) continue;
    const JobId job = home_.secrets.kept().begin()->first;
    EXPECT_FALSE(home_.secrets.is_unsettled(job));
    ASSERT_TRUE(home_.call(Verb::kCancel, job).ok());
    home_.until([&] { return home_.secrets.kept().empty(); });
  }
}

TEST_F(SecretsTest, AreAskedForAgainByARetry) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started[0].attempt, 1)})).ok());
  home_.until([&] { return home_.secrets.kept().empty(); });
  JobCall retry;
  retry.verb = Verb::kRetry;
  retry.job = job;
  auto refused = home_.wait(home_.control().call(retry));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "secrets.env:TOKEN");
  retry.secrets["env:TOKEN"] = "again";
  ASSERT_TRUE(home_.wait(home_.control().call(retry)).ok());
  EXPECT_EQ(home_.secrets.kept().at(job).at("env:TOKEN"), "again");
  EXPECT_EQ(worker.started.size(), 2U);
}

TEST_F(SecretsTest, AreNotAskedForByARetryThatIsRefusedAnyway) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(worker.started[0].attempt, 0)})).ok());
  home_.until([&] { return home_.secrets.kept().empty(); });
  JobCall retry;
  retry.verb = Verb::kRetry;
  retry.job = job;
  const Answer answer = MUST(home_.wait(home_.control().call(retry)));
  ASSERT_TRUE(answer.outcome.refusal.has_value());
  EXPECT_EQ(answer.outcome.refusal->field, "status");
}

// Runs what a test began while `first`, and then `second`, is held back for a moment.
class HeldBack {
 public:
  HeldBack(async::EventLoop& loop, std::mutex& first, std::mutex& second)
      : first_(first), second_(second), first_timer_(loop), second_timer_(loop) {
    first_.lock();
    second_.lock();
    first_timer_.start(Duration::millis(30), [this] { first_.unlock(); });
    second_timer_.start(Duration::millis(90), [this] { second_.unlock(); });
  }

 private:
  std::mutex& first_;
  std::mutex& second_;
  async::Timer first_timer_;
  async::Timer second_timer_;
};

TEST_F(SecretsTest, AreKeptByARetryThatIsDecidedBeforeTheEndIsDurable) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  JobCall retry;
  retry.verb = Verb::kRetry;
  retry.job = job;
  std::mutex unused;
  const HeldBack back(*home_.loop, home_.watch.held, unused);
  std::vector<Async<void>> both;
  both.push_back(worker.report({worker.ended(worker.started[0].attempt, 1)}));
  both.push_back(take(home_.control().call(retry)));
  ASSERT_TRUE(home_.wait(async::when_all(*home_.loop, std::move(both))).ok());
  EXPECT_EQ(worker.started.size(), 2U);
  EXPECT_EQ(home_.secrets.kept().count(job), 1U);
}

TEST_F(SecretsTest, OfARetryAreNotWipedByTheEndBeforeIt) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId job = MUST(submit(with_secret())).outcome.job;
  JobCall retry;
  retry.verb = Verb::kRetry;
  retry.job = job;
  retry.secrets["env:TOKEN"] = "new";
  const HeldBack back(*home_.loop, home_.watch.held, home_.secrets.held);
  std::vector<Async<void>> both;
  both.push_back(worker.report({worker.ended(worker.started[0].attempt, 1)}));
  both.push_back(take(home_.control().call(retry)));
  ASSERT_TRUE(home_.wait(async::when_all(*home_.loop, std::move(both))).ok());
  EXPECT_EQ(worker.started.size(), 2U);
  ASSERT_EQ(home_.secrets.kept().count(job), 1U);
  EXPECT_EQ(home_.secrets.kept().at(job).at("env:TOKEN"), "new");
}

TEST_F(SecretsTest, AreSweptWhenTheProcessBeforeDiedAtTheWrongMoment) {
  FakeNode& worker = node(Behaviour::kSilent);
  const JobId ended = MUST(submit(with_secret())).outcome.job;
  const model::AttemptRef attempt = worker.started.at(0).attempt;
  ASSERT_TRUE(home_.wait(worker.report({worker.ended(attempt, 0)})).ok());
  home_.until([&] { return home_.secrets.kept().empty(); });
  const JobId job = MUST(submit(with_secret())).outcome.job;
  drop_node();
  home_.crash();
  ASSERT_TRUE(home_.secrets.put(ended, {{"env:TOKEN", "x"}}, Secrets::Taken::kYes).ok());
  home_.open();
  ASSERT_EQ(home_.secrets.kept().size(), 1U);
  EXPECT_EQ(home_.secrets.kept().begin()->first, job);
  EXPECT_TRUE(home_.control().notices().empty());
}

TEST_F(SecretsTest, OfJobsThatTheLogDoesNotKnowStay) {
  const JobId unknown("0dm3k7q2f9wx");
  ASSERT_TRUE(home_.secrets.put(unknown, {{"env:TOKEN", "x"}}, Secrets::Taken::kYes).ok());
  home_.crash();
  home_.open();
  EXPECT_EQ(home_.secrets.kept().count(unknown), 1U);
  ASSERT_EQ(home_.control().notices().size(), 1U);
  EXPECT_NE(home_.control().notices()[0].find(unknown.str()), std::string::npos);
}

TEST_F(SecretsTest, OfASubmissionThatWasNeverTakenAreSwept) {
  const JobId never("0dm3k7q2f9wx");
  const JobId taken = MUST(submit(with_secret())).outcome.job;
  EXPECT_FALSE(home_.secrets.is_unsettled(taken));
  const Secrets::Taken not_yet = Secrets::Taken::kNotYet;
  home_.crash();
  ASSERT_TRUE(home_.secrets.put(never, {{"env:TOKEN", "x"}}, not_yet).ok());
  ASSERT_TRUE(home_.secrets.put(taken, {{"env:TOKEN", "x"}}, not_yet).ok());
  home_.open();
  EXPECT_EQ(home_.secrets.kept().count(never), 0U);
  EXPECT_EQ(home_.secrets.kept().count(taken), 1U);
  EXPECT_FALSE(home_.secrets.is_unsettled(taken));
  EXPECT_TRUE(home_.control().notices().empty());
}

}  // namespace
}  // namespace runnel::control
