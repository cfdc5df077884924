// The API over a real Unix socket: what a client sees.
#include "control/api/api.h"

#include <gtest/gtest.h>

#include "control/testing/api_test.h"
#include "http/blocking_client.h"
#include "http/event_stream.h"
#include "store/memory/memory_log.h"

namespace runnel::control {
namespace {

using testing::ApiTest;
using testing::FakeNode;
using testing::Schemas;
using testing::step;

TEST_F(ApiTest, CreatesAJobAndShowsIt) {
  const http::Response created =
      post("/api/v1/jobs", body_of({step("a", 3)}, ",\"owner\":\"mallory\""));
  ASSERT_EQ(created.status, 201) << created.body;
  const json::Value job = MUST(json::parse(created.body));
  const std::string id = job.find("id")->as_text();
  EXPECT_EQ(created.headers.find("Location"), "/api/v1/jobs/" + id);
  EXPECT_EQ(job.find("owner")->as_text(), "ann");
  const http::Response shown = get("/api/v1/jobs/" + id);
  EXPECT_EQ(shown.headers.find("ETag"), created.headers.find("ETag"));
  EXPECT_EQ(shown.body, created.body);
  EXPECT_EQ(get("/api/v1/projects/default/jobs/" + id).body, created.body);
  for (const char* rest : {"", "/explain", "/tasks", "/tasks/a/0", "/events", "/logs"}) {
    EXPECT_EQ(get("/api/v1/projects/default/jobs/" + id + rest).status, 200) << rest;
    EXPECT_EQ(get("/api/v1/projects/other/jobs/" + id + rest).status, 404) << rest;
  }
  EXPECT_NE(get("/api/v1/jobs/" + id + "?include=spec").body.find("\"spec\""), std::string::npos);
  const http::Response progress = get("/api/v1/jobs/" + id + "?include=progress");
  EXPECT_NE(progress.body.find("\"share\":0"), std::string::npos) << progress.body;
  EXPECT_FALSE(progress.headers.find("ETag").has_value()) << "it changes without the job's version";
  EXPECT_EQ(get("/api/v1/jobs/" + id + "?include=spce").status, 422);
  http::Request again = http::Request::get("/api/v1/jobs/" + id);
  again.headers.set("If-None-Match", std::string(*shown.headers.find("ETag")));
  EXPECT_EQ(ask(again).status, 304);
}

TEST_F(ApiTest, TakesAJobFile) {
  http::Request request = http::Request::post("/api/v1/jobs?workdir=/tmp&file=hello.yaml");
  request.headers.set("Content-Type", "application/yaml");
  request.body = "name: hello\nresources: {cpus: 1}\nrun: echo hello\n";
  const http::Response created = ask(request);
  ASSERT_EQ(created.status, 201) << created.body;
  request.body = "run: echo hello\nunknown: 7\n";
  const http::Response refused = ask(request);
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.body.find("hello.yaml"), std::string::npos);
  request.headers.set("Content-Type", "text/html");
  EXPECT_EQ(ask(request).status, 422);
}

TEST_F(ApiTest, AnswersARepeatedKeyWithTheSameJob) {
  http::Request request = http::Request::post("/api/v1/jobs", body_of({step("a")}));
  request.headers.set("Idempotency-Key", "k1");
  const http::Response first = ask(request);
  const http::Response second = ask(request);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(first.headers.find("Location"), second.headers.find("Location"));
  request.body = body_of({step("b")});
  const http::Response other = ask(request);
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(http::error_of(other).field, "Idempotency-Key");
}

TEST_F(ApiTest, RefusesBadBodiesAsProblems) {
  for (const char* body : {"", "{", "[]", "{}", "{\"spec\":{}}", "{\"spec\":{\"steps\":[]}}"}) {
    const http::Response refused = post("/api/v1/jobs", body);
    EXPECT_EQ(refused.status, 422) << body;
    EXPECT_EQ(refused.headers.find("content-type"), "application/problem+json");
  }
  EXPECT_EQ(post("/api/v1/jobs?limit=1", body_of({step("a")})).status, 422);
  EXPECT_EQ(get("/api/v1/jobs?limit=0").status, 422);
  EXPECT_EQ(get("/api/v1/jobs/train").status, 404);
  EXPECT_EQ(get("/api/v1/nothing").status, 404);
  EXPECT_EQ(get("/api/v1/projects/No_Such/jobs").status, 422);
}

TEST_F(ApiTest, ChangesNothingThroughAnotherProject) {
  const std::string id = submit({step("a")});
  EXPECT_EQ(post("/api/v1/projects/other/jobs", body_of({step("a")})).status, 422);
  EXPECT_EQ(post("/api/v1/projects/default/jobs", body_of({step("a")})).status, 201);
  EXPECT_EQ(post("/api/v1/projects/other/jobs/" + id + ":cancel", "").status, 404);
  http::Request remove = http::Request::get("/api/v1/projects/other/jobs/" + id);
  remove.method = http::Method::kDelete;
  EXPECT_EQ(ask(remove).status, 404);
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":cancel", "").status, 200);
}

TEST_F(ApiTest, RefusesTextThatALogCouldNotKeep) {
  http::Request request = http::Request::post("/api/v1/jobs");
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Idempotency-Key", "caf\xE9");
  request.body = body_of({step("a")});
  EXPECT_EQ(ask(request).status, 422);
  request.headers.set("Idempotency-Key", "caf\xC3\xA9");
  EXPECT_EQ(ask(request).status, 201);
  EXPECT_EQ(get("/api/v1/jobs?filter=caf%E9").status, 422);
}

TEST_F(ApiTest, CountsEachPlaceOfAGangThatSharesANode) {
  node_->colocate = true;
  ASSERT_TRUE(home_.wait(node_->join(4)).ok());
  model::StepSpec gang = step("gang");
  gang.num_nodes = 3;
  ASSERT_EQ(post("/api/v1/jobs", body_of({gang})).status, 201);
  const json::Value nodes = get_json("/api/v1/nodes");
  const json::Value& used = *nodes.find("nodes")->as_list().front().find("used");
  EXPECT_EQ(used.find("milli_cpus")->as_int(), 3'000);
}

TEST_F(ApiTest, TakesANodeAwayWithANotice) {
  EXPECT_EQ(post("/api/v1/nodes/n1:preempt?notice=90s&away=0s").status, 202);
  EXPECT_EQ(preempted_.notice, Duration::seconds(90));
  EXPECT_EQ(preempted_.away, Duration());
  const json::Value nodes = get_json("/api/v1/nodes");
  const json::Value& node = nodes.find("nodes")->as_list().front();
  EXPECT_NE(node.find("leaves_at"), nullptr);
  EXPECT_EQ(node.find("reason")->as_text(), "Preempted");
  EXPECT_EQ(post("/api/v1/nodes/n1:preempt").status, 409) << "it is told already";
  EXPECT_EQ(post("/api/v1/nodes/n2:preempt").status, 404);
  EXPECT_EQ(post("/api/v1/nodes/n1:preempt?notice=soon").status, 422);
  EXPECT_EQ(post("/api/v1/nodes/n1:preempt?notices=1s").status, 422);
}

TEST_F(ApiTest, SaysThatTheDiskIsFull) {
  home_.watch.full = true;
  const http::Response refused = post("/api/v1/jobs", body_of({step("a")}));
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.headers.has("Retry-After"));
  EXPECT_NE(refused.body.find("nothing was accepted"), std::string::npos);
  EXPECT_TRUE(get_json("/api/v1/jobs").find("jobs")->as_list().empty());
  home_.watch.full = false;
  EXPECT_EQ(post("/api/v1/jobs", body_of({step("a")})).status, 201);
}

TEST_F(ApiTest, ListsNewestFirstPageByPage) {
  std::vector<std::string> ids;
  for (int job = 0; job < 7; ++job) ids.push_back(submit({step("a")}));
  std::vector<std::string> seen;
  std::string token;
  for (int page = 0; page < 10; ++page) {
    const json::Value list = get_json("/api/v1/jobs?limit=3&page_token=" + token);
    for (const json::Value& job : list.find("jobs")->as_list()) {
      EXPECT_EQ(job.find("steps"), nullptr);
      seen.push_back(job.find("id")->as_text());
    }
    const json::Value* next = list.find("next_page_token");
    if (next == nullptr) break;
    token = next->as_text();
  }
  std::reverse(ids.begin(), ids.end());
  EXPECT_EQ(seen, ids);
}

TEST_F(ApiTest, ListsWhatAFilterLeaves) {
  submit({step("a")});
  end_all(0);
  const std::string open = submit({step("a")});
  const auto ids = [this](const std::string& filter) {
    return get_json("/api/v1/jobs?filter=" + filter).find("jobs")->as_list().size();
  };
  EXPECT_EQ(ids("unfinished"), 1U);
  EXPECT_EQ(ids("ended"), 1U);
  EXPECT_EQ(ids("succeeded"), 1U);
  EXPECT_EQ(ids("FAILED"), 0U);
  EXPECT_EQ(get("/api/v1/jobs?filter=lost").status, 422);
  EXPECT_EQ(get("/api/v1/jobs?order_by=name").status, 422);
}

TEST_F(ApiTest, MergesTheArchiveIntoListsAndLookUps) {
  // Two jobs of an earlier life, one older and one newer than a live one.
  store::ArchiveEntry old;
  old.key = "000000000aaa";
  old.sort_key = "default/000000000aaa";
  old.text =
      "{\"id\":\"000000000aaa\",\"project\":\"default\",\"resource_version\":5,"
      "\"status\":\"FAILED\",\"steps\":[]}";
  home_.watch.storage->archive[old.key] = old;
  const std::string live = submit({step("a")});
  const json::Value list = get_json("/api/v1/jobs");
  const auto& rows = list.find("jobs")->as_list();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].find("id")->as_text(), live);
  EXPECT_EQ(rows[1].find("id")->as_text(), old.key);
  EXPECT_EQ(get("/api/v1/jobs/000000000a").body, old.text);
  EXPECT_EQ(get_json("/api/v1/jobs?filter=unfinished").find("jobs")->as_list().size(), 1U);
  const json::Value first = get_json("/api/v1/jobs?limit=1");
  const std::string token = first.find("next_page_token")->as_text();
  const json::Value second = get_json("/api/v1/jobs?limit=1&page_token=" + token);
  EXPECT_EQ(second.find("jobs")->as_list().front().find("id")->as_text(), old.key);
  EXPECT_EQ(get("/api/v1/jobs/000000000aaa/tasks").status, 410);
  const http::Response retried = post("/api/v1/jobs/000000000aaa:retry");
  EXPECT_EQ(retried.status, 410);
  EXPECT_NE(retried.body.find("earlier build"), std::string::npos) << "it says what is missing";
  EXPECT_EQ(get("/api/v1/jobs/000000000aaa?include=spec").body, old.text);
  EXPECT_EQ(get("/api/v1/jobs/000000000aaa/trials").status, 410);
  EXPECT_EQ(get("/api/v1/jobs/000000000aaa/logs?step=0").status, 200);
  EXPECT_EQ(ask([] {
              http::Request request = http::Request::get("/api/v1/jobs/000000000aaa");
              request.method = http::Method::kDelete;
              return request;
            }())
                .status,
            200);
  EXPECT_EQ(get("/api/v1/jobs/000000000aaa").status, 404);
  EXPECT_EQ(node_->removed, std::vector<JobId>{JobId(old.key)});
}

TEST_F(ApiTest, CancelsAndRetriesUnderAVersion) {
  const std::string id = submit({step("a")});
  end_all(3);
  const http::Response failed = get("/api/v1/jobs/" + id);
  EXPECT_NE(failed.body.find("\"exit_code\":3"), std::string::npos);
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":cancel").status, 409);
  http::Request retry = http::Request::post("/api/v1/jobs/" + id + ":retry");
  retry.headers.set("If-Match", "\"1\"");
  EXPECT_EQ(ask(retry).status, 412);
  retry.headers.set("If-Match", std::string(*failed.headers.find("ETag")));
  const http::Response retried = ask(retry);
  EXPECT_EQ(retried.status, 200) << retried.body;
  EXPECT_EQ(post("/api/v1/jobs/" + id + "/cancel", "{\"actor\":\"mallory\"}").status, 200);
  const http::Response events = get("/api/v1/jobs/" + id + "/events?limit=1000");
  EXPECT_NE(events.body.find("\"actor\":\"ann\""), std::string::npos);
  EXPECT_EQ(events.body.find("mallory"), std::string::npos) << "who asks is not what the body says";
}

TEST_F(ApiTest, ListsTasksByStepAndStatus) {
  const std::string id = submit({step("first", 100'000), step("second", 2)});
  const json::Value page = get_json("/api/v1/jobs/" + id + "/tasks?step=second");
  EXPECT_EQ(page.find("tasks")->as_list().size(), 2U);
  EXPECT_EQ(get_json("/api/v1/jobs/" + id + "/tasks?status=queued&limit=5")
                .find("tasks")
                ->as_list()
                .size(),
            5U);
  const http::Response wrong = get("/api/v1/jobs/" + id + "/tasks?step=secnd");
  EXPECT_EQ(wrong.status, 404);
  EXPECT_NE(wrong.body.find("'second'"), std::string::npos);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/tasks?page_token=x").status, 422);
  EXPECT_EQ(get("/api/v1/jobs?page_token=zzz").status, 422) << "the beginning of an id is none";
  EXPECT_EQ(get("/api/v1/jobs?limit=1&limit=2").status, 422) << "which of them?";
}

TEST_F(ApiTest, TellsTheAttemptsOfATask) {
  const std::string id = submit({step("a", 2)});
  end_all(5);
  const json::Value task = get_json("/api/v1/jobs/" + id + "/tasks/a/1");
  ASSERT_EQ(task.find("attempts")->as_list().size(), 1U);
  EXPECT_EQ(task.find("attempts")->as_list()[0].find("exit_code")->as_int(), 5);
  EXPECT_EQ(task.find("task")->find("status")->as_text(), "FAILED");
  EXPECT_EQ(task.find("task")->find("index")->as_int(), 1);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/tasks/a/2").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/tasks/a/x").status, 404);
}

TEST_F(ApiTest, ListsEventsFromACursor) {
  submit({step("a")});
  const json::Value all = get_json("/api/v1/events");
  const auto& events = all.find("events")->as_list();
  ASSERT_GE(events.size(), 3U);
  EXPECT_EQ(events[0].find("seq")->as_int(), 1);
  EXPECT_EQ(events[0].find("type")->as_text(), "node.joined");
  const json::Value rest = get_json("/api/v1/events?after=1&limit=1");
  EXPECT_EQ(rest.find("events")->as_list().front().find("seq")->as_int(), 2);
  EXPECT_EQ(rest.find("through")->as_int(), 2);
  EXPECT_EQ(get("/api/v1/events?after=999999").status, 410);
  EXPECT_EQ(get("/api/v1/events?after=x").status, 422);
}

TEST_F(ApiTest, ReadsHistoryFromBeforeARestart) {
  const std::string id = submit({step("a")});
  home_.clock.advance(Duration::millis(1));
  submit({step("b")});
  const EventQuery query{EventSeq(0), JobId(id), 100};
  const EventPage recent = MUST(home_.wait(home_.control().events().read(query)));
  const EventPage stored = MUST(home_.wait(home_.writer().read<EventPage>(
      [query](store::LogReader& log) { return read_events(log, query, 100); })));
  ASSERT_EQ(recent.events.size(), stored.events.size());
  for (std::size_t at = 0; at < stored.events.size(); ++at) {
    EXPECT_EQ(recent.events[at].document, stored.events[at].document);
  }
}

TEST_F(ApiTest, WatchesAJobToItsEnd) {
  const std::string id = submit({step("a")});
  async::Timer later(*home_.loop);
  async::Gate gate(*home_.loop);
  later.start(Duration::millis(20), [this, &gate] {
    const model::RankReport end = node_->ended(node_->started.front().attempt, 0);
    EXPECT_TRUE(home_.loop->spawn(gate, node_->report({end})).ok());
  });
  const bool over = stream("/api/v1/jobs/" + id + "/events?watch=1&until=end",
                           [](const std::string&) { return false; });
  EXPECT_TRUE(over);
  EXPECT_NE(streamed_.find("\"to\":\"SUCCEEDED\""), std::string::npos);
  EXPECT_TRUE(home_.wait(gate.close()).ok());
}

TEST_F(ApiTest, WatchesAsServerSentEventsWithCursors) {
  submit({step("a")});
  stream(
      "/api/v1/events?watch=1&after=1",
      [](const std::string& text) { return text.find("job.submitted") != std::string::npos; },
      std::string(http::kEventStreamType));
  http::SseSplitter splitter;
  ASSERT_TRUE(splitter.feed(streamed_).ok());
  const auto event = splitter.next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, "2");
  EXPECT_TRUE(json::parse(event->data).ok());
}

TEST_F(ApiTest, FollowsOutputUntilTheJobEnds) {
  const std::string id = submit({step("a")});
  logs_->write(JobId(id), "first\n");
  async::Timer later(*home_.loop);
  async::Timer last(*home_.loop);
  async::Gate gate(*home_.loop);
  later.start(Duration::millis(10), [this, &id] { logs_->write(JobId(id), "second\n"); });
  last.start(Duration::millis(30), [this, &gate] {
    const model::RankReport end = node_->ended(node_->started.front().attempt, 0);
    EXPECT_TRUE(home_.loop->spawn(gate, node_->report({end})).ok());
  });
  EXPECT_TRUE(stream("/api/v1/jobs/" + id + "/logs?follow=1&format=raw",
                     [](const std::string&) { return false; }));
  EXPECT_EQ(streamed_, "first\nsecond\n");
  EXPECT_TRUE(
      stream("/api/v1/jobs/" + id + "/logs?cursor=1", [](const std::string&) { return false; }));
  EXPECT_NE(streamed_.find("\"msg\":\"second\""), std::string::npos);
  EXPECT_EQ(streamed_.find("\"msg\":\"first\""), std::string::npos);
  EXPECT_TRUE(home_.wait(gate.close()).ok());
}

// A job of four tasks, and then one that waited for them.
class WaitingTest : public ApiTest {
 protected:
  Async<void> end_all() {
    std::vector<model::RankReport> ends;
    for (const model::StartOrder& order : node_->started) {
      ends.push_back(node_->ended(order.attempt, 0));
    }
    Result<void> ended = co_await node_->report(std::move(ends));
    CO_TRY(std::move(ended));
    while (node_->started.size() < 5) {
      Result<void> slept = co_await home_.loop->sleep(Duration::millis(1));
      CO_TRY(std::move(slept));
    }
    std::vector<model::RankReport> last = {node_->ended(node_->started.back().attempt, 0)};
    co_return co_await node_->report(std::move(last));
  }
};

TEST_F(WaitingTest, AFollowerThatCameBeforeTheFirstTaskKnowsAtTheEndThatOneRan) {
  submit({step("a", 4)});  // As many tasks as there are processors.
  const std::string id = submit({step("a")});
  async::Timer last(*home_.loop);
  async::Gate gate(*home_.loop);
  last.start(Duration::millis(10), [this, &gate] {
    EXPECT_FALSE(logs_->last_query.ran);
    EXPECT_TRUE(home_.loop->spawn(gate, end_all()).ok());
  });
  EXPECT_TRUE(stream("/api/v1/jobs/" + id + "/logs?follow=1&format=raw",
                     [](const std::string&) { return false; }));
  EXPECT_TRUE(logs_->last_query.over);
  EXPECT_TRUE(logs_->last_query.ran);
  EXPECT_TRUE(home_.wait(gate.close()).ok());
}

TEST_F(ApiTest, AsksForTheOutputThatWasMeant) {
  model::StepSpec pairs = step("b", 4);
  pairs.procs_per_node = 2;
  const std::string id = submit({step("a"), pairs});
  EXPECT_EQ(
      get("/api/v1/jobs/" + id + "/logs?step=b&task=3&attempt=2&rank=1&tail=10&since=10m").status,
      200);
  EXPECT_EQ(logs_->last_query.step, StepIndex(1));
  EXPECT_EQ(logs_->last_query.task, TaskIndex(3));
  EXPECT_EQ(logs_->last_query.attempt, AttemptNumber(2));
  EXPECT_EQ(logs_->last_query.rank, 1);
  EXPECT_EQ(logs_->last_query.tail, 10);
  EXPECT_EQ(logs_->last_query.since, home_.clock.wall() - Duration::minutes(10));
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/logs?format=xml").status, 422);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/logs?step=c").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/logs?since=soon").status, 422);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/logs?task=4").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/logs?step=a&task=1").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/logs?step=a&rank=1").status, 404);
}

TEST_F(ApiTest, TellsHowFarARunningJobIs) {
  const JobId job = home_.submit({step("a", 2)});
  ASSERT_FALSE(node_->started.empty());
  const model::AttemptRef first = node_->started.front().attempt;
  ASSERT_TRUE(home_.wait(node_->report({node_->running(first)})).ok());
  const json::Value told =
      MUST(json::parse(get("/api/v1/jobs/" + job.str() + "?include=progress").body));
  const json::Value& a = told.find("progress")->find("steps")->as_list().at(0);
  EXPECT_EQ(a.find("live")->as_list().at(0).dump(),
            R"({"metrics":{"accuracy":0.5,"loss":"nan"},"step":3,"task":0})");
  end_all(0);
  const http::Response over = get("/api/v1/jobs/" + job.str() + "?include=progress");
  EXPECT_NE(over.body.find("\"share\":1"), std::string::npos) << over.body;
}

TEST_F(ApiTest, TellsWhatTasksReported) {
  const std::string id = submit({step("a"), step("b")});
  const http::Response answer = get("/api/v1/jobs/" + id + "/metrics?step=b");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"series":[{"bad_lines":1,"bad_records":0,"samples":[{"step":3,"values":{"accuracy":0.5,)"
      R"("loss":"nan"}}],"step":"b","task":7,"truncated":false}]})");
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/metrics?step=c").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/metrics?task=x").status, 422);
}

TEST_F(ApiTest, TellsWhatTasksUse) {
  const JobId job = home_.submit({step("a", 2)});
  home_.until([&] { return node_->started.size() == 2; });
  const json::Value usage = get_json("/api/v1/jobs/" + job.str() + "/usage");
  const auto& tasks = usage.find("tasks")->as_list();
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].find("cpus")->dump(), "1.25");
  EXPECT_EQ(tasks[0].find("memory")->dump(), std::to_string(Bytes::mebi(3).count()));
  EXPECT_EQ(tasks[0].find("gpu")->dump(), "null") << "this machine has none";
  EXPECT_EQ(tasks[0].find("nodes")->dump(), R"(["n1"])");
  EXPECT_EQ(tasks[1].find("cpus")->dump(), "null") << "nobody has seen it yet";
}

// A task writes on: the last line of this moment was asked for.
TEST_F(ApiTest, TheLastLinesAreNoMoreThanWereAsked) {
  const std::string id = submit({step("a")});
  logs_->write(JobId(id), "last\n");
  logs_->write(JobId(id), "written meanwhile\n");
  const std::string root = "/api/v1/jobs/" + id + "/logs?format=raw";
  EXPECT_EQ(get(root + "&tail=1").body, "last\n");
  EXPECT_EQ(get(root + "&tail=1&cursor=1").body, "written meanwhile\n");
  EXPECT_EQ(get(root).body, "last\nwritten meanwhile\n");
}

TEST_F(ApiTest, AsksForOutputWhereItGrows) {
  const std::string root = "/api/v1/jobs/" + home_.submit({step("a", 2)}).str();
  home_.until([&] { return node_->started.size() >= 2; });
  for (const char* what : {"/logs", "/metrics", "/usage"}) {
    logs_->asked_nodes.clear();
    EXPECT_EQ(get(root + what).status, 200) << what;
    EXPECT_EQ(logs_->asked_nodes, std::vector{NodeId("n1")}) << what;
  }
  (void)post(root + ":cancel");
  home_.until([&] { return node_->stopped.size() == 2; });
  std::vector<model::RankReport> ends;
  for (int each = 0; each < 2; ++each) {
    ends.push_back(node_->ended(node_->started[static_cast<std::size_t>(each)].attempt, 143));
  }
  ASSERT_TRUE(home_.wait(node_->report(std::move(ends))).ok());
  EXPECT_EQ(get(root + "/logs").status, 200);
  EXPECT_TRUE(logs_->asked_nodes.empty()) << "nothing of it runs any more";
}

TEST_F(ApiTest, ExplainsWaiting) {
  const std::string id = submit({step("a"), step("b", 1)});
  submit({step("big", 40)});
  const json::Value doc = get_json("/api/v1/jobs/" + id + "/explain");
  EXPECT_EQ(doc.find("id")->as_text(), id);
  EXPECT_TRUE(doc.find("waits")->is_list());
}

TEST_F(ApiTest, TellsWhatKeepsPlacedTasksFromBeginning) {
  const std::string id = submit({step("a"), step("b", 1)});
  const auto waits = [&] {
    std::string all;
    const json::Value doc = get_json("/api/v1/jobs/" + id + "/explain");
    for (const json::Value& wait : doc.find("waits")->as_list()) {
      all += wait.find("step")->as_text() + ":" + wait.find("reason")->as_text() + " ";
    }
    return all;
  };
  EXPECT_EQ(waits(), "a:Running b:Running ");
  EXPECT_TRUE(get_json("/api/v1/home").find("slow_starts")->as_list().empty());
  const Silence volume{"task 0 waits for volume data@1", "it begins by itself"};
  slow_starts_ = {{JobId(id), StepIndex(1), "Flushing", volume},
                  {JobId("gone"), StepIndex(0), "Preparing", volume}};
  EXPECT_EQ(waits(), "b:Flushing a:Running ");
  const json::Value home = get_json("/api/v1/home");
  EXPECT_EQ(fault(home, "/api/v1/home"), "");
  ASSERT_EQ(home.find("slow_starts")->as_list().size(), 1U) << "control knows no job 'gone'";
  const json::Value& start = home.find("slow_starts")->as_list().front();
  EXPECT_EQ(start.find("job")->as_text(), id);
  EXPECT_EQ(start.find("step")->as_text(), "b");
  EXPECT_EQ(start.find("message")->as_text(), volume.message);
  end_all(0);
  EXPECT_EQ(waits(), "");
  EXPECT_TRUE(get_json("/api/v1/home").find("slow_starts")->as_list().empty());
}

TEST_F(ApiTest, ShowsNodesAndWhatIsUsed) {
  submit({step("a", 3)});
  const json::Value doc = get_json("/api/v1/nodes");
  ASSERT_EQ(doc.find("nodes")->as_list().size(), 1U);
  const json::Value& node = doc.find("nodes")->as_list().front();
  EXPECT_EQ(node.find("id")->as_text(), "n1");
  EXPECT_EQ(node.find("capacity")->find("milli_cpus")->as_int(), 4000);
  EXPECT_EQ(node.find("used")->find("milli_cpus")->as_int(), 3000);
}

TEST_F(ApiTest, TellsWhoHasWhichDevices) {
  node_->devices = 4;
  ASSERT_TRUE(home_.wait(node_->join(4)).ok());
  model::StepSpec two = step("a", 3);
  two.resources.accelerators["H100"] = 2;
  const std::string root = "/api/v1/jobs/" + submit({two});
  const json::Value nodes = get_json("/api/v1/nodes");
  const json::Value& devices = *nodes.find("nodes")->as_list().front().find("devices");
  EXPECT_EQ(devices.find("free")->dump(), R"({"H100":0})");
  EXPECT_EQ(devices.find("held")->as_list().size(), 2U);
  const json::Value usage = get_json(root + "/usage");
  EXPECT_EQ(usage.find("tasks")->as_list()[1].find("devices")->dump(), R"({"n1":{"H100":[2,3]}})");
  const json::Value task = get_json(root + "/tasks/a/1");
  const std::string route = "/api/v1/jobs/{id}";
  EXPECT_EQ(task.find("task")->find("devices")->dump(), R"({"n1":{"H100":[2,3]}})");
  EXPECT_EQ(fault(nodes, "/api/v1/nodes"), "");
  EXPECT_EQ(fault(usage, route + "/usage"), "");
  EXPECT_EQ(fault(task, route + "/tasks/{step}/{index}"), "");
  EXPECT_EQ(fault(get_json(root + "/tasks"), route + "/tasks"), "");
}

TEST_F(ApiTest, TellsOfItselfAndStops) {
  const json::Value home = get_json("/api/v1/home");
  EXPECT_EQ(home.find("home")->as_text(), "/home/x/.runnel");
  EXPECT_EQ(home.find("daemon_pid")->as_int(), 7);
  EXPECT_EQ(home.find("runner_pid")->as_int(), 8);
  EXPECT_EQ(home.find("notices")->as_list().front().as_text(), "a notice");
  EXPECT_EQ(get_json("/version").find("version")->as_text(), "1.2.3");
  EXPECT_EQ(get_json("/healthz").find("status")->as_text(), "ok");
  EXPECT_EQ(get_json("/readyz").find("status")->as_text(), "ready");
  EXPECT_EQ(post("/api/v1/home:stop").status, 202);
  EXPECT_TRUE(stop_asked_);
  runner_pid_ = 0;
  EXPECT_TRUE(get_json("/api/v1/home").find("runner_pid")->is_null());
}

TEST_F(ApiTest, AnswersAsItDescribes) {
  const std::string job = submit({step("a", 2), step("b", 1, {0})});
  const std::string root = "/api/v1/jobs/" + job;
  const std::string route = "/api/v1/jobs/{id}";
  const auto expect_described = [&](const std::string& target, const std::string& path) {
    EXPECT_EQ(fault(get_json(target), path), "") << target;
  };
  const auto look = [&] {
    expect_described(root, route);
    expect_described(root + "?include=spec", route);
    expect_described(root + "?include=progress", route);
    expect_described(root + "/tasks", route + "/tasks");
    expect_described(root + "/tasks/a/0", route + "/tasks/{step}/{index}");
    expect_described(root + "/explain", route + "/explain");
    expect_described(root + "/metrics", route + "/metrics");
    expect_described(root + "/usage", route + "/usage");
    expect_described("/api/v1/jobs?limit=1", "/api/v1/jobs");
    expect_described("/api/v1/nodes", "/api/v1/nodes");
  };
  look();
  end_all(3);
  look();
  for (const char* path : {"/api/v1/home", "/healthz", "/readyz", "/version"}) {
    expect_described(path, path);
  }
  const auto fault_of_body = [&](const std::string& text) {
    return fault(MUST(json::parse(text)), "/api/v1/jobs", "post", "requestBody");
  };
  EXPECT_EQ(fault_of_body(body_of({step("a")})), "");
  EXPECT_NE(fault_of_body(R"({"spec":{"steps":[{"nmae":"a"}]}})"), "") << "a misspelt field";
}

TEST_F(ApiTest, DescribesTheProblemsOfEveryRoute) {
  const json::Value doc = get_json("/openapi.json");
  const json::Value& schemas = *doc.find("components")->find("schemas");
  EXPECT_EQ(Schemas(doc).fault(get_json("/api/v1/jobs/nobody", 404), *schemas.find("Problem"), ""),
            "");
  for (const auto& [path, item] : doc.find("paths")->as_object()) {
    for (const auto& [verb, operation] : item.as_object()) {
      EXPECT_NE(operation.find("responses")->find("default")->find("content"), nullptr) << path;
      const json::Value* content = operation.find("responses")->find("2XX")->find("content");
      ASSERT_NE(content, nullptr) << verb << " " << path;
      EXPECT_FALSE(content->as_object().empty()) << verb << " " << path;
      for (const auto& [type, media] : content->as_object()) {
        const json::Value* reference = media.find("schema")->find("$ref");
        if (reference == nullptr) continue;
        const std::string name = reference->as_text();
        EXPECT_NE(schemas.find(name.substr(name.rfind('/') + 1)), nullptr) << name;
      }
    }
  }
}

TEST_F(ApiTest, DescribesEveryRoute) {
  const json::Value doc = get_json("/openapi.json");
  const json::Value* paths = doc.find("paths");
  for (const char* path : {"/api/v1/jobs/{id}:cancel", "/healthz", "/api/v1/home",
                           "/api/v1/projects/{project}/jobs/{id}/tasks/{step}/{index}"}) {
    EXPECT_NE(paths->find(path), nullptr) << path;
  }
  const json::Value& jobs = *paths->find("/api/v1/jobs");
  for (const char* verb : {"post", "get"}) EXPECT_NE(jobs.find(verb), nullptr) << verb;
}

// The target of a path in /openapi.json, with any value for each parameter.
std::string target_of(std::string path) {
  for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{')) {
    path.replace(open, path.find('}') - open + 1, "x");
  }
  return path;
}

TEST_F(ApiTest, TakesNoParameterThatIsNotDescribedAndNoWrongOneThatIs) {
  int described = 0;
  const json::Value doc = get_json("/openapi.json");
  for (const auto& [path, item] : doc.find("paths")->as_object()) {
    for (const auto& [verb, operation] : item.as_object()) {
      const auto fault_field = [&, at = path, by = verb](const std::string& query) {
        http::Request request = http::Request::get(target_of(at) + query);
        if (by == "post") request.method = http::Method::kPost;
        if (by == "delete") request.method = http::Method::kDelete;
        const http::Response response = ask(std::move(request));
        EXPECT_EQ(response.status, 422) << by << " " << at << query << response.body;
        return http::error_of(response).field;
      };
      EXPECT_EQ(fault_field("?nonsense=1"), "nonsense") << verb << " " << path;
      for (const json::Value& parameter : operation.find("parameters")->as_list()) {
        const json::Value& schema = *parameter.find("schema");
        const std::string name = parameter.find("name")->as_text();
        const bool checked = schema.find("type")->as_text() == "integer" || schema.find("enum");
        if (parameter.find("in")->as_text() != "query" || !checked || name == "order_by") continue;
        EXPECT_EQ(fault_field("?" + name + "=wrong"), name) << verb << " " << path;
        ++described;
      }
    }
  }
  EXPECT_GE(described, 30);
  EXPECT_FALSE(stop_asked_);
}

TEST_F(ApiTest, DescribesWhatASubmissionIsAskedWith) {
  const json::Value doc = get_json("/openapi.json");
  const json::Value& post = *doc.find("paths")->find("/api/v1/jobs")->find("post");
  std::string told;
  for (const json::Value& parameter : post.find("parameters")->as_list()) {
    told += parameter.find("in")->as_text() + ":" + parameter.find("name")->as_text() + " ";
  }
  EXPECT_EQ(told, "query:file query:owner query:workdir header:Idempotency-Key ");
  EXPECT_NE(post.find("requestBody")->find("content")->find("application/yaml"), nullptr);
  const json::Value& tell = *doc.find("components")->find("schemas")->find("TrialTell");
  EXPECT_EQ(tell.find("properties")->find("state")->find("enum")->dump(),
            R"(["complete","pruned","failed","fail"])");
  EXPECT_EQ(tell.find("properties")->find("value")->find("type")->dump(), R"(["number","string"])");
}

}  // namespace
}  // namespace runnel::control
