// The documents that answers are made of: jobs, tasks, their history, exit codes.
#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"
#include "control/device_document.h"
#include "control/exit_code.h"
#include "control/job_document.h"
#include "control/task_history.h"
#include "control/task_walk.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using brain::testing::BrainHarness;
using brain::testing::step;
using model::EndCause;
using model::Status;
using Verb = model::JobRequest::Verb;

json::Value parse(const std::string& text) { return MUST(json::parse(text)); }

class DocumentsTest : public ::testing::Test {
 protected:
  const brain::Job& job(const JobId& id) const { return harness_.brain.state().jobs.at(id); }
  json::Value document(const JobId& id, JobView view = JobView::kFull) const {
    return parse(job_document(job(id), EventSeq(7), view));
  }
  std::vector<std::int64_t> walk(const JobId& id, TaskFilter filter, TaskPlace from = {}) const {
    std::vector<std::int64_t> found;
    TaskWalk walk(job(id), filter, from);
    while (auto place = walk.next()) found.push_back(place->index.value());
    return found;
  }

  BrainHarness harness_;
};

TEST_F(DocumentsTest, TellAQueuedJobWithoutInventingTimes) {
  const JobId id = harness_.submit({step("a", 3), step("b", 1, {0})});
  const json::Value doc = document(id);
  EXPECT_EQ(doc.find("id")->as_text(), id.str());
  EXPECT_EQ(doc.find("status")->as_text(), "QUEUED");
  EXPECT_EQ(doc.find("tasks")->as_int(), 4);
  EXPECT_EQ(doc.find("resource_version")->as_int(), 7);
  EXPECT_EQ(doc.find("counts")->find("QUEUED")->as_int(), 4);
  EXPECT_EQ(doc.find("exit_code"), nullptr);
  EXPECT_EQ(doc.find("started_at"), nullptr);
  EXPECT_EQ(doc.find("submitted_at")->as_text(), rfc3339(harness_.now));
  const auto& steps = doc.find("steps")->as_list();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].find("depends_on")->as_list().front().as_text(), "a");
  EXPECT_EQ(steps[0].find("depends_on"), nullptr);
}

TEST_F(DocumentsTest, TellWhatAiledARank) {
  model::StepSpec watched = step("train");
  watched.health.nan = model::NanPolicy{"", model::HealthAction::kWarn};
  harness_.join("n1", 2);
  const JobId id = harness_.submit({watched});
  EXPECT_EQ(document(id).find("steps")->as_list()[0].find("warnings"), nullptr);
  TaskHistory history({id, StepIndex(0), TaskIndex(0)});
  model::NodeReport report;
  report.node = NodeId("n1");
  report.incarnation = Incarnation("1");
  model::HealthReport& told = report.health.emplace_back();
  told.attempt = BrainHarness::ref(id, 0, 0);
  told.problem = model::HealthProblem::kNotFinite;
  told.step = 4;
  told.metric = "loss";
  told.value = "inf";
  harness_.decide(report);
  for (const model::Event& event : harness_.history) history.add(event, harness_.now);
  const json::Value doc = document(id);
  const json::Value& of_job = doc.find("steps")->as_list()[0];
  EXPECT_EQ(of_job.find("warned")->as_int(), 1);
  const json::Value& warning = of_job.find("warnings")->as_list()[0];
  EXPECT_EQ(warning.find("message")->as_text(), "rank 0 of 1 reported loss=inf at step 4");
  EXPECT_EQ(warning.find("reason")->as_text(), "MetricNotFinite");
  EXPECT_EQ(warning.find("at")->as_text(), rfc3339(harness_.now));
  const json::Value task = parse(history.document());
  const json::Value& attempt = task.find("attempts")->as_list()[0];
  EXPECT_EQ(attempt.find("warnings")->as_list()[0].find("action")->as_text(), "warn");
}

TEST_F(DocumentsTest, TellWhatAJobCosts) {
  model::NodeJoin join;
  join.node.id = NodeId("n1");
  join.node.capacity.milli_cpus = 2'000;
  join.node.capacity.memory = Bytes::gibi(8);
  join.node.price = Money::micros(360'000);
  join.incarnation = Incarnation("1");
  harness_.decide(join);
  const JobId id = harness_.submit({step("a"), step("b")});
  harness_.running("n1", BrainHarness::ref(id, 0, 0));
  harness_.running("n1", BrainHarness::ref(id, 1, 0));
  harness_.pass(Duration::seconds(10));
  harness_.ended("n1", BrainHarness::ref(id, 0, 0));
  const json::Value doc = document(id);
  const json::Value& cost = *doc.find("cost");
  EXPECT_EQ(cost.find("as_of")->as_text(), rfc3339(harness_.now));
  EXPECT_EQ(cost.find("spent")->dump(), "0.001000") << "both up to now, half a node each";
  EXPECT_EQ(cost.find("spent_per_hour")->dump(), "0.180000") << "the one that goes on";
  EXPECT_EQ(cost.find("list")->dump(), "0.001000");
  EXPECT_EQ(doc.find("steps")->as_list()[0].find("cost")->find("spent")->dump(), "0.000500");
  EXPECT_NE(document(id, JobView::kRow).find("cost"), nullptr);
}

TEST_F(DocumentsTest, SayNothingOfCostWithoutAPrice) {
  harness_.join("n1", 2);
  const JobId id = harness_.submit({step("a")});
  EXPECT_EQ(document(id).find("cost"), nullptr);
}

TEST_F(DocumentsTest, AreCanonicalInEveryView) {
  harness_.join("n1", 2);
  const JobId id = harness_.submit({step("a", 3), step("b", 1, {0})});
  harness_.ended("n1", BrainHarness::ref(id, 0, 0), 3);
  harness_.request(id, Verb::kCancel);
  for (const JobView view : {JobView::kRow, JobView::kFull, JobView::kWithSpec}) {
    const std::string text = job_document(job(id), EventSeq(1), view);
    EXPECT_EQ(parse(text).dump(), text);
  }
  EXPECT_EQ(document(id, JobView::kRow).find("steps"), nullptr);
  EXPECT_NE(document(id, JobView::kWithSpec).find("spec"), nullptr);
}

TEST_F(DocumentsTest, PassTheExitCodeOfAJobWithOneTaskOn) {
  harness_.join("n1", 4);
  const JobId good = harness_.submit({step("a")});
  const JobId bad = harness_.submit({step("a")});
  const JobId killed = harness_.submit({step("a")});
  const JobId late = harness_.submit({step("a")});
  EXPECT_EQ(exit_code_of(job(good)), std::nullopt);
  harness_.ended("n1", BrainHarness::ref(good, 0, 0), 0);
  harness_.ended("n1", BrainHarness::ref(bad, 0, 0), 42);
  model::RankReport signalled =
      BrainHarness::end_of(BrainHarness::ref(killed, 0, 0), 0, harness_.now);
  signalled.signal = 9;
  harness_.report("n1", signalled);
  model::RankReport timeout =
      BrainHarness::end_of(BrainHarness::ref(late, 0, 0), 0, harness_.now, 0, EndCause::kTimeout);
  timeout.signal = 15;
  harness_.report("n1", timeout);
  EXPECT_EQ(exit_code_of(job(good)), 0);
  EXPECT_EQ(exit_code_of(job(bad)), 42);
  EXPECT_EQ(exit_code_of(job(killed)), 137);
  EXPECT_EQ(exit_code_of(job(late)), 124);
}

TEST_F(DocumentsTest, NameTheVersionThatAStepHasPublished) {
  model::StepSpec writing = step("train");
  writing.volumes = {{"out", "results", "", "file:///v", false, model::VolumeMode::kWrite}};
  model::StepSpec publishing = step("train.publish", 1, {0});
  publishing.volumes = writing.volumes;
  publishing.publishes = StepIndex(0);
  harness_.join("n1", 4);
  const JobId id = harness_.submit({writing, publishing});
  harness_.ended("n1", BrainHarness::ref(id, 0, 0), 0);
  model::RankReport end = BrainHarness::end_of(BrainHarness::ref(id, 1, 0), 0, harness_.now);
  end.published = {{"another", "fedcba9876543210"}, {"out", "0123456789abcdef"}};
  harness_.report("n1", end);
  const json::Value doc = document(id);
  const auto& steps = doc.find("steps")->as_list();
  EXPECT_EQ(steps[0].find("published"), nullptr);
  EXPECT_EQ(steps[1].find("published")->dump(),
            R"([{"name":"out","version":"0123456789abcdef","volume":"results"}])");
}

TEST_F(DocumentsTest, GiveOneForAnyFailureOfSeveralTasks) {
  harness_.join("n1", 4);
  const JobId id = harness_.submit({step("a", 2)});
  harness_.ended("n1", BrainHarness::ref(id, 0, 0), 42);
  harness_.ended("n1", BrainHarness::ref(id, 0, 1), 0);
  EXPECT_EQ(exit_code_of(job(id)), 1);
}

TEST_F(DocumentsTest, NameTheFirstTaskThatFailed) {
  harness_.join("n1", 4);
  const JobId id = harness_.submit({step("a"), step("b", 3)});
  harness_.ended("n1", BrainHarness::ref(id, 0, 0), 0);
  harness_.ended("n1", BrainHarness::ref(id, 1, 2), 7);
  harness_.ended("n1", BrainHarness::ref(id, 1, 1), 42);
  EXPECT_EQ(document(id).find("first_failure"), nullptr) << "it may yet be another";
  harness_.ended("n1", BrainHarness::ref(id, 1, 0), 0);
  EXPECT_EQ(document(id).find("first_failure")->dump(),
            R"({"exit_code":42,"reason":"NonZeroExit","step":"b","task":1})");
  EXPECT_EQ(document(id, JobView::kRow).find("first_failure"), nullptr);
}

TEST_F(DocumentsTest, NameTheFirstTaskThatFailedOfACancelledJob) {
  harness_.join("n1", 4);
  const JobId id = harness_.submit({step("a", 3)});
  harness_.ended("n1", BrainHarness::ref(id, 0, 1), 5);
  harness_.request(id, Verb::kCancel);
  harness_.ended("n1", BrainHarness::ref(id, 0, 0), 143, 0, model::EndCause::kStopped);
  harness_.ended("n1", BrainHarness::ref(id, 0, 2), 143, 0, model::EndCause::kStopped);
  ASSERT_EQ(job(id).status, model::Status::kCancelled);
  EXPECT_EQ(document(id).find("message")->as_text(),
            "cancelled on request; before that, step 'a': task 1 failed (NonZeroExit)");
  EXPECT_EQ(document(id).find("first_failure")->dump(),
            R"({"exit_code":5,"reason":"NonZeroExit","step":"a","task":1})");
}

TEST_F(DocumentsTest, GiveOneForAJobCancelledBeforeItRan) {
  const JobId id = harness_.submit({step("a")});
  harness_.request(id, Verb::kCancel);
  EXPECT_EQ(exit_code_of(job(id)), 1);
}

TEST_F(DocumentsTest, WalkTasksThatAreOnlyRanges) {
  const JobId id = harness_.submit({step("a", 1'000'000), step("b", 2)});
  TaskWalk all(job(id), {}, {StepIndex(0), TaskIndex(999'999)});
  EXPECT_EQ(all.next(), (TaskPlace{StepIndex(0), TaskIndex(999'999)}));
  EXPECT_EQ(all.next(), (TaskPlace{StepIndex(1), TaskIndex(0)}));
  EXPECT_EQ(all.next(), (TaskPlace{StepIndex(1), TaskIndex(1)}));
  EXPECT_EQ(all.place(), std::nullopt);
  EXPECT_EQ(all.next(), std::nullopt);
}

TEST_F(DocumentsTest, WalkByStatusThroughRangesAndKeptTasks) {
  harness_.join("n1", 8);
  model::StepSpec many = step("a", 20);
  many.parallel = 8;
  const JobId id = harness_.submit({many});
  harness_.ended("n1", BrainHarness::ref(id, 0, 1), 1);
  harness_.ended("n1", BrainHarness::ref(id, 0, 3), 0);
  harness_.ended("n1", BrainHarness::ref(id, 0, 5), 1);
  EXPECT_EQ(walk(id, {StepIndex(0), Status::kFailed}), (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(walk(id, {{}, Status::kSucceeded}), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(walk(id, {{}, Status::kFailed}, {StepIndex(0), TaskIndex(2)}),
            (std::vector<std::int64_t>{5}));
  EXPECT_EQ(walk(id, {StepIndex(0), {}}).size(), 20U);
}

TEST_F(DocumentsTest, PageTasksToTheirEnd) {
  const JobId id = harness_.submit({step("a", 25), step("b", 5)});
  std::vector<std::string> seen;
  TaskPlace from;
  for (int page = 0; page < 10; ++page) {
    const json::Value doc = parse(task_page(job(id), harness_.brain.state().lanes, {}, from, 7));
    for (const json::Value& task : doc.find("tasks")->as_list()) {
      seen.push_back(task.find("step")->as_text() + std::to_string(task.find("index")->as_int()));
    }
    const json::Value* token = doc.find("next_page_token");
    if (token == nullptr) break;
    from = MUST(TaskPlace::parse(token->as_text()));
  }
  ASSERT_EQ(seen.size(), 30U);
  EXPECT_EQ(seen.front(), "a0");
  EXPECT_EQ(seen.back(), "b4");
}

TEST_F(DocumentsTest, RefuseAPageTokenThatIsNone) {
  for (const char* token :
       {"", "1", "a.b", "1.", ".1", "1.2.3", "-1.2", "1.99999999999999999999"}) {
    EXPECT_FALSE(TaskPlace::parse(token).ok()) << token;
  }
  const TaskPlace place{StepIndex(3), TaskIndex(1'000'000)};
  EXPECT_EQ(MUST(TaskPlace::parse(place.token())), place);
}

TEST_F(DocumentsTest, TellATaskWithItsParameters) {
  model::StepSpec sweep = step("a", 4);
  sweep.samples.reset();
  model::Parameter rate;
  rate.name = "rate";
  rate.values = {"1", "2"};
  model::Parameter width = rate;
  width.name = "alpha";
  sweep.params = {rate, width};
  const JobId id = harness_.submit({sweep});
  const json::Value doc =
      parse(task_document(job(id), harness_.brain.state().lanes, {StepIndex(0), TaskIndex(3)}));
  EXPECT_EQ(doc.find("params")->find("rate")->as_text(), "2");
  EXPECT_EQ(doc.find("params")->find("alpha")->as_text(), "2");
  EXPECT_EQ(doc.find("status")->as_text(), "QUEUED");
  EXPECT_EQ(doc.find("attempts")->as_int(), 0);
}

TEST_F(DocumentsTest, TellTheDevicesOfATask) {
  harness_.devices = 4;
  harness_.colocate = true;
  harness_.join("gpu", 8);
  model::StepSpec spec = step("a", 2);
  spec.resources.accelerators["H100"] = 1;
  spec.num_nodes = 2;
  spec.parallel = 1;
  const JobId id = harness_.submit({spec});
  TaskHistory history({id, StepIndex(0), TaskIndex(0)});
  for (const model::Event& event : harness_.history) history.add(event, harness_.now);
  const json::Value attempt = parse(history.document()).find("attempts")->as_list().at(0);
  EXPECT_EQ(attempt.find("devices")->dump(), R"({"gpu":{"H100":[0,1]}})");
  const brain::State& state = harness_.brain.state();
  const json::Value doc = parse(task_page(job(id), state.lanes, {}, {}, 7));
  const auto& tasks = doc.find("tasks")->as_list();
  EXPECT_EQ(tasks[0].find("devices")->dump(), R"({"gpu":{"H100":[0,1]}})");
  EXPECT_EQ(tasks[1].find("devices"), nullptr) << "it waits";
  EXPECT_EQ(node_devices(state, state.nodes.at(NodeId("gpu"))).dump(),
            R"({"free":{"H100":2},"held":[{"devices":{"H100":[0,1]},"job":"job1","lane":1,)"
            R"("step":"a","task":0}]})");
}

TEST_F(DocumentsTest, TellThatNoDevicesAreFreeBesideStrangers) {
  harness_.devices = 2;
  harness_.join("gpu", 8);
  model::RankReport stranger;
  stranger.attempt = BrainHarness::ref(JobId("gone"), 1, 3);
  stranger.started_at = harness_.now;
  harness_.rejoin("gpu", "1", {stranger});
  const brain::State& state = harness_.brain.state();
  EXPECT_EQ(node_devices(state, state.nodes.at(NodeId("gpu"))).dump(),
            R"({"free":{"H100":0},"held":[],"strangers":[{"attempt":1,"job":"gone","rank":0,)"
            R"("step":"1","task":3}]})");
}

TEST_F(DocumentsTest, TellThatNoDevicesAreFreeThatAreNotGranted) {
  harness_.devices = 2;
  harness_.join("gpu", 8);
  brain::Node node = harness_.brain.state().nodes.at(NodeId("gpu"));
  const auto free = [&] { return node_devices(harness_.brain.state(), node).find("free")->dump(); };
  EXPECT_EQ(free(), R"({"H100":2})");
  node.info.withholds_devices = true;
  EXPECT_EQ(free(), R"({"H100":0})");
  node.info.withholds_devices = false;
  node.info.draining = true;
  EXPECT_EQ(free(), R"({"H100":0})");
}

TEST_F(DocumentsTest, TellEveryAttemptOfARetriedTask) {
  harness_.join("n1", 1);
  model::StepSpec again = step("a");
  again.retry.max = 2;
  const JobId id = harness_.submit({again});
  harness_.running("n1", BrainHarness::ref(id, 0, 0, 1));
  harness_.ended("n1", BrainHarness::ref(id, 0, 0, 1), 3);
  harness_.pass(Duration::minutes(10));
  harness_.wake();
  harness_.ended("n1", BrainHarness::ref(id, 0, 0, 2), 0);
  TaskHistory history({id, StepIndex(0), TaskIndex(0)});
  for (const model::Event& event : harness_.history) history.add(event, harness_.now);
  const json::Value doc = parse(history.document());
  const auto& attempts = doc.find("attempts")->as_list();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].find("exit_code")->as_int(), 3);
  EXPECT_EQ(attempts[0].find("exits")->as_list().front().find("exit")->as_text(), "3:0");
  EXPECT_EQ(attempts[0].find("first_failed_rank")->as_int(), 0);
  EXPECT_EQ(attempts[0].find("fault")->as_text(), "user");
  EXPECT_EQ(attempts[0].find("nodes")->as_list().front().as_text(), "n1");
  EXPECT_EQ(attempts[1].find("exit_code")->as_int(), 0);
  EXPECT_EQ(attempts[1].find("status")->as_text(), "SUCCEEDED");
}

TEST_F(DocumentsTest, TellWhichRankOfAGangFailedFirst) {
  harness_.join("n1", 2);
  model::StepSpec gang = step("gang");
  gang.procs_per_node = 3;
  const JobId id = harness_.submit({gang});
  const model::AttemptRef attempt = BrainHarness::ref(id, 0, 0);
  harness_.ended("n1", attempt, 5, 2);
  harness_.ended("n1", attempt, 0, 0);
  model::RankReport killed = BrainHarness::end_of(attempt, 0, harness_.now, 1, EndCause::kStopped);
  killed.signal = 15;
  harness_.report("n1", killed);
  TaskHistory history(attempt.task);
  for (const model::Event& event : harness_.history) history.add(event, harness_.now);
  const json::Value doc = parse(history.document());
  const json::Value& only = doc.find("attempts")->as_list().front();
  EXPECT_EQ(only.find("first_failed_rank")->as_int(), 2);
  EXPECT_EQ(only.find("exit_code")->as_int(), 5);
  EXPECT_EQ(only.find("highest_code")->as_int(), 143);
  EXPECT_EQ(exit_code_of(job(id)), 5);
}

TEST_F(DocumentsTest, ForgetOldAttemptsOfATaskThatHadTooMany) {
  TaskHistory history({JobId("a"), StepIndex(0), TaskIndex(0)});
  const auto attempts = static_cast<int>(TaskHistory::kAttemptsShownMax) + 5;
  for (int number = 1; number <= attempts; ++number) {
    history.add(
        model::LaneExtended{
            LaneId(1), JobId("a"), StepIndex(0), {{TaskIndex(0), AttemptNumber(number), {}}}},
        harness_.now);
  }
  const json::Value doc = parse(history.document());
  EXPECT_EQ(doc.find("attempts")->as_list().size(), TaskHistory::kAttemptsShownMax);
  EXPECT_EQ(doc.find("attempts")->as_list().front().find("attempt")->as_int(), 6);
  EXPECT_EQ(doc.find("dropped")->as_int(), 5);
}

}  // namespace
}  // namespace runnel::control
