// The API over a real Unix socket: what a client sees.
#include "control/api.h"

#include <sstream>

#include <gtest/gtest.h>

#include "control/recovery.h"
#include "control/testing/home.h"
#include "env/files.h"
#include "http/blocking_client.h"
#include "http/client.h"
#include "http/event_stream.h"
#include "http/server.h"
#include "json/value.h"
#include "store/memory/memory_log.h"

namespace runnel::control {
namespace {

using testing::Home;
using testing::PaperNode;
using testing::step;

// Output that a test writes.
class PaperLogs final : public LogSource {
 public:
  explicit PaperLogs(async::EventLoop& loop) : grown_(loop) {}

  void write(const JobId& job, const std::string& bytes) {
    model::LogPiece piece;
    piece.attempt = {{job, StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
    piece.bytes = bytes;
    piece.cursor = std::to_string(pieces_.size() + 1);
    pieces_.push_back(std::move(piece));
    grown_.notify_all();
  }

  Async<model::LogPage> read(model::LogFilter query, std::string cursor) override {
    last_query = query;
    const std::size_t from = cursor.empty() ? 0 : std::stoul(cursor);
    model::LogPage page;
    page.cursor = cursor;
    if (from >= pieces_.size()) co_return page;
    page.pieces.push_back(pieces_[from]);
    page.cursor = pieces_[from].cursor;
    co_return page;
  }
  Async<model::MetricPage> read_metrics(model::MetricFilter filter) override {
    model::MetricSample sample{3, {{"accuracy", "0.5"}, {"loss", "nan"}}};
    model::MetricPage page;
    page.series.push_back({filter.step.value_or(StepIndex(0)), TaskIndex(7), {sample}, 1});
    co_return page;
  }
  Async<std::vector<model::TaskUsage>> read_usage(JobId) override {
    co_return std::vector<model::TaskUsage>{{.step = "a",
                                             .task = TaskIndex(0),
                                             .attempt = AttemptNumber(1),
                                             .processes = 2,
                                             .milli_cpus = 1'250,
                                             .memory = Bytes::mebi(3)}};
  }
  Async<void> changed(JobId, async::StopToken stop) override {
    return grown_.wait(std::move(stop));
  }

  model::LogFilter last_query;

 private:
  std::vector<model::LogPiece> pieces_;
  async::Notifier grown_;
};

// Where a document is not as its schema says; empty when it is. A member that no schema names is a
// fault as well: an answer is described whole.
class Schemas {
 public:
  explicit Schemas(const json::Value& openapi)
      : all_(*openapi.find("components")->find("schemas")) {}

  std::string fault(const json::Value& value, const json::Value& schema,
                    const std::string& path) const {
    if (const json::Value* reference = schema.find("$ref")) {
      const std::string name = reference->as_text().substr(reference->as_text().rfind('/') + 1);
      const json::Value* meant = all_.find(name);
      return meant == nullptr ? path + ": no schema " + name : fault(value, *meant, path);
    }
    const json::Value* type = schema.find("type");
    if (type == nullptr) return "";
    if (!fits(value, *type)) return path + ": not " + type->dump() + " but " + value.dump();
    if (value.is_object()) return member_fault(value, schema, path);
    if (!value.is_list()) return "";
    for (const json::Value& item : value.as_list()) {
      const std::string wrong = fault(item, *schema.find("items"), path + "[]");
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  static std::string kind_of(const json::Value& value) {
    if (value.is_object()) return "object";
    if (value.is_list()) return "array";
    if (value.is_text()) return "string";
    if (value.is_int()) return "integer";
    if (value.is_null()) return "null";
    const std::string text = value.dump();
    return text == "true" || text == "false" ? "boolean" : "number";
  }
  static bool fits(const json::Value& value, const json::Value& type) {
    const std::string types = type.dump();
    const std::string kind = kind_of(value);
    return types.find('"' + kind + '"') != std::string::npos ||
           (kind == "integer" && types.find("number") != std::string::npos);
  }
  std::string member_fault(const json::Value& value, const json::Value& schema,
                           const std::string& path) const {
    const json::Value* any = schema.find("additionalProperties");
    const json::Value* known = schema.find("properties");
    if (const json::Value* required = schema.find("required")) {
      for (const json::Value& name : required->as_list()) {
        if (value.find(name.as_text()) == nullptr) return path + ": lacks " + name.as_text();
      }
    }
    for (const auto& [name, member] : value.as_object()) {
      const json::Value* of = any != nullptr ? any : known->find(name);
      if (of == nullptr) return path + ": " + name + " is not described";
      const std::string wrong = fault(member, *of, path + "." + name);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  json::Value all_;
};

class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(brain::Limits limits = {})
      : folder_(MUST(env::make_temporary_directory("runnel-api-"))) {
    home_.options.log.limits = limits;
    home_.open();
    node_ =
        std::make_unique<PaperNode>(*home_.loop, home_.control(), "n1", PaperNode::Manner::kSilent);
    EXPECT_TRUE(home_.wait(node_->join(4)).ok());
    logs_ = std::make_unique<PaperLogs>(*home_.loop);
    ApiHost host;
    host.info = [this] {
      return HomeInfo{"/home/x/.runnel", "/home/x/.runnel/sock", "1.2.3",     7,
                      runner_pid_,       std::nullopt,           {"a notice"}};
    };
    host.stop = [this] { stop_asked_ = true; };
    host.preempt = [this](Preemption what) {
      preempted_ = what;
      return home_.control().give_notice(what.node, what.notice);
    };
    api_ = std::make_unique<Api>(*home_.loop, home_.control(), *logs_, std::move(host));
    api_->add_routes(router_);
    server_ = std::make_unique<http::Server>(
        *home_.loop, [this](http::Request request) { return router_.handle(std::move(request)); });
    EXPECT_TRUE(server_->listen_unix(folder_ + "/sock").ok());
    client_ =
        std::make_unique<http::Client>(*home_.loop, http::Endpoint::unix_socket(folder_ + "/sock"));
  }
  ~ApiTest() override {
    client_.reset();
    EXPECT_TRUE(home_.wait(server_->stop(Duration::seconds(1))).ok());
    EXPECT_TRUE(home_.wait(node_->stop()).ok());
    home_.stop();
    EXPECT_TRUE(env::remove_tree(folder_).ok());
  }

  http::Response ask(http::Request request) {
    auto response = home_.wait(client_->request(std::move(request)));
    EXPECT_TRUE(response.ok()) << response.error().to_string();
    return response.ok() ? *response : http::Response();
  }
  http::Response get(const std::string& target) { return ask(http::Request::get(target)); }
  json::Value get_json(const std::string& target, int status = 200) {
    const http::Response response = get(target);
    EXPECT_EQ(response.status, status) << response.body;
    return MUST(json::parse(response.body));
  }
  http::Response post(const std::string& target, const std::string& body = "") {
    return ask(http::Request::post(target, body));
  }
  static std::string body_of(std::vector<model::StepSpec> steps, const std::string& more = "") {
    const Submission made = testing::submission(std::move(steps));
    return "{\"spec\":" + model::encode_text(*made.spec) + more + "}";
  }
  std::string submit(std::vector<model::StepSpec> steps) {
    const http::Response response = post("/api/v1/jobs", body_of(std::move(steps)));
    EXPECT_EQ(response.status, 201) << response.body;
    return MUST(json::parse(response.body))
    .find("id")->as_text();
  }
  // Against the schema that /openapi.json has for the route.
  std::string fault(const json::Value& answer, const std::string& path,
                    const std::string& verb = "get", const std::string& in = "responses") {
    const json::Value doc = get_json("/openapi.json");
    const json::Value& operation = *doc.find("paths")->find(path)->find(verb);
    const json::Value* holder =
        in == "responses" ? operation.find("responses")->find("2XX") : operation.find(in);
    if (holder == nullptr || holder->find("content") == nullptr) return path + ": no schema";
    const json::Value& schema = *holder->find("content")->find("application/json")->find("schema");
    return Schemas(doc).fault(answer, schema, path);
  }
  void end_all(int code) {
    std::vector<model::RankReport> ends;
    for (const model::StartOrder& order : node_->started) {
      ends.push_back(node_->ended(order.attempt, code));
    }
    node_->started.clear();
    EXPECT_TRUE(home_.wait(node_->report(std::move(ends))).ok());
  }
  // Reads a stream until `enough` says so, or it ends; true when it ended by itself.
  bool stream(const std::string& target, std::function<bool(const std::string&)> enough,
              const std::string& accept = "") {
    http::Request request = http::Request::get(target);
    if (!accept.empty()) request.headers.set("Accept", accept);
    streamed_.clear();
    async::StopSource stop;
    auto response = home_.wait(client_->stream(
        std::move(request),
        [this, &enough](std::string_view bytes) -> Result<void> {
          streamed_ += bytes;
          if (enough(streamed_)) return Error(Errc::kCancelled, "enough");
          return {};
        },
        stop.token()));
    return response.ok();
  }

  std::string folder_;
  Home home_;
  std::unique_ptr<PaperNode> node_;
  std::unique_ptr<PaperLogs> logs_;
  http::Router router_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Client> client_;
  std::string streamed_;
  std::int64_t runner_pid_ = 8;
  bool stop_asked_ = false;
  Preemption preempted_;
};

TEST_F(ApiTest, CreatesAJobAndShowsIt) {
  const http::Response created =
      post("/api/v1/jobs", body_of({step("a", 3)}, ",\"owner\":\"ann\""));
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
  EXPECT_EQ(post("/api/v1/jobs/" + id + "/cancel", "{\"actor\":\"ann\"}").status, 200);
  const http::Response events = get("/api/v1/jobs/" + id + "/events?limit=1000");
  EXPECT_NE(events.body.find("\"actor\":\"ann\""), std::string::npos);
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
      [query](store::EventLog& log) { return read_events(log, query, 100); })));
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
      R"("loss":"nan"}}],"step":"b","task":7}]})");
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/metrics?step=c").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/metrics?task=x").status, 422);
}

// --- Studies whose trials a client runs.

class StudyApiTest : public ApiTest {
 protected:
  explicit StudyApiTest(brain::Limits limits = {}) : ApiTest(limits) {
    model::StepSpec tune = step("tune", 3);
    tune.command.clear();
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
    study_ = home_.submit({tune});
  }

  std::string path(const std::string& rest) const {
    return "/api/v1/jobs/" + study_.str() + "/" + rest;
  }
  json::Value post_json(const std::string& rest, const std::string& body, int status = 200) {
    const http::Response response = post(path(rest), body);
    EXPECT_EQ(response.status, status) << response.body;
    return MUST(json::parse(response.body));
  }
  static std::string text(const json::Value& value, std::string_view key) {
    const json::Value* found = value.find(key);
    return found == nullptr ? "(none)" : found->dump();
  }

  JobId study_;
};

TEST_F(StudyApiTest, GivesTrialsAndTakesWhatCameOfThem) {
  const json::Value trial = post_json("trials:ask", "");
  EXPECT_EQ(text(trial, "trial"), "0");
  EXPECT_EQ(text(trial, "attempt"), "1");
  EXPECT_EQ(text(trial, "status"), "\"RUNNING\"");
  EXPECT_EQ(text(trial, "stop"), "false");
  ASSERT_NE(trial.find("params")->find("x"), nullptr);
  const json::Value told = post_json("trials/0:tell", R"({"value": 0.5})");
  EXPECT_EQ(text(told, "status"), "\"SUCCEEDED\"");
  EXPECT_EQ(text(told, "stop"), "true");
  EXPECT_EQ(text(told, "best"), "true");
  EXPECT_EQ(told.find("values")->find("loss")->dump(), "0.5");
  EXPECT_EQ(post_json("trials/0:tell", R"({"value": 0.5})").dump(), told.dump()) << "said again";
  post_json("trials/0:tell", R"({"value": 0.75})", 409);
}

TEST_F(StudyApiTest, AnswersAsItDescribes) {
  const std::string root = "/api/v1/jobs/{id}/trials";
  EXPECT_EQ(fault(post_json("trials:ask", R"({"lease": "60s"})"), root + ":ask", "post"), "");
  EXPECT_EQ(fault(post_json("trials/0:report", R"({"step": 4, "metrics": {"loss": 7}})"),
                  root + "/{trial}:report", "post"),
            "");
  EXPECT_EQ(fault(get_json(path("trials/0")), root + "/{trial}"), "");
  EXPECT_EQ(fault(post_json("trials/0:tell", R"({"value": 0.5})"), root + "/{trial}:tell", "post"),
            "");
  for (int i = 0; i < 2; ++i) post_json("trials:ask", "");
  EXPECT_EQ(fault(post_json("trials:ask", ""), root + ":ask", "post"), "") << "none is left";
  EXPECT_EQ(fault(get_json(path("trials")), root), "");
  EXPECT_EQ(fault(get_json(path("importance")), "/api/v1/jobs/{id}/importance"), "");
  EXPECT_EQ(fault(get_json("/api/v1/jobs/" + study_.str()), "/api/v1/jobs/{id}"), "");
}

TEST_F(StudyApiTest, SaysWhenNoTrialIsLeft) {
  for (int i = 0; i < 3; ++i) post_json("trials:ask", R"({"lease": "60s"})");
  const json::Value none = post_json("trials:ask", "{}");
  EXPECT_EQ(none.dump(), R"({"finished":false,"running":3,"trial":null,"waiting":0})");
  for (int i = 0; i < 3; ++i) {
    post_json("trials/" + std::to_string(i) + ":tell", R"({"value": 1})");
  }
  EXPECT_EQ(post_json("trials:ask", "").dump(),
            R"({"finished":true,"running":0,"trial":null,"waiting":0})");
}

TEST_F(StudyApiTest, ListsTrialsPageByPage) {
  for (int i = 0; i < 3; ++i) post_json("trials:ask", "");
  post_json("trials/1:report", R"({"step": 4, "metrics": {"loss": 7}})");
  const json::Value page = get_json(path("trials?limit=2"));
  EXPECT_EQ(page.find("trials")->as_list().size(), 2u);
  const json::Value rest =
      get_json(path("trials?page_token=") + page.find("next_page_token")->as_text());
  EXPECT_EQ(rest.find("trials")->as_list().size(), 1u);
  EXPECT_EQ(rest.find("next_page_token"), nullptr);
  EXPECT_EQ(get_json(path("trials/1")).find("reports")->as_list().size(), 0u)
      << "nobody judges it, and it is not the last";
  EXPECT_EQ(text(get_json(path("trials/7"), 404), "field"), "\"trial\"");
  EXPECT_EQ(get_json(path("importance")).dump(), R"({"importance":[{"name":"x","share":0}]})");
}

TEST_F(StudyApiTest, GivesTheTrialOfASilentAskerToTheNext) {
  post_json("trials:ask", "");
  home_.clock.advance(model::kLeaseDefault);
  const json::Value again = post_json("trials:ask", "");
  EXPECT_EQ(text(again, "trial"), "0") << "its first asker was silent";
  EXPECT_EQ(text(again, "attempt"), "2");
  post_json("trials/0:tell", R"({"attempt": 1, "value": 1})", 409);
  post_json("trials/0:tell", R"({"attempt": 2, "value": 1})");
}

TEST_F(StudyApiTest, AnswersARepeatedAskWithTheSameTrial) {
  const auto ask_as = [&](const std::string& key) {
    http::Request request = http::Request::post(path("trials:ask"), "");
    request.headers.set("Idempotency-Key", key);
    return MUST(json::parse(ask(std::move(request)).body));
  };
  const json::Value first = ask_as("one");
  EXPECT_EQ(ask_as("one").dump(), first.dump());
  EXPECT_EQ(text(ask_as("two"), "trial"), "1");
  EXPECT_EQ(home_.control().state().lanes.size(), 2u);
}

TEST_F(StudyApiTest, AReportMaySayNoMoreThanThatSomebodyIsThere) {
  post_json("trials:ask", R"({"lease": "60s"})");
  for (int i = 0; i < 3; ++i) {
    home_.clock.advance(Duration::seconds(50));
    EXPECT_EQ(text(post_json("trials/0:report", "{}"), "stop"), "false");
  }
  const json::Value told =
      post_json("trials/0:tell", R"({"state": "pruned", "step": 7, "value": 2})");
  EXPECT_EQ(text(told, "status"), "\"PRUNED\"");
  EXPECT_EQ(get_json(path("trials/0")).find("reports")->dump(),
            R"([{"step":7,"values":{"loss":2}}])");
}

TEST_F(StudyApiTest, AHaltedStudyGivesNothingAndTakesNothing) {
  post_json("trials:ask", "");
  EXPECT_EQ(post("/api/v1/jobs/" + study_.str() + ":halt").status, 200);
  EXPECT_EQ(text(post_json("trials:ask", "", 409), "code"), "\"conflict\"");
  const json::Value late = post_json("trials/0:tell", R"({"value": 1})", 409);
  EXPECT_NE(text(late, "detail").find("PAUSED"), std::string::npos) << late.dump();
  EXPECT_EQ(post("/api/v1/jobs/" + study_.str() + ":resume").status, 200);
  const json::Value again = post_json("trials:ask", "");
  EXPECT_EQ(text(again, "trial"), "0") << "it goes on where it was";
  EXPECT_EQ(text(again, "attempt"), "2");
}

TEST_F(StudyApiTest, OfSeveralSearchesOneIsNamed) {
  const auto& spec = home_.control().state().jobs.at(study_).spec->steps.front();
  model::StepSpec other = spec;
  other.name = "again";
  const JobId two = home_.submit({spec, other});
  const std::string base = "/api/v1/jobs/" + two.str() + "/trials";
  const json::Value asked = MUST(json::parse(post(base + ":ask", "").body));
  EXPECT_EQ(text(asked, "field"), "\"step\"") << asked.dump();
  const json::Value named = MUST(json::parse(post(base + ":ask?step=again", "").body));
  EXPECT_EQ(text(named, "step"), "\"again\"");
  EXPECT_EQ(get_json(base + "?step=tune").find("trials")->as_list().size(), 0u);
  EXPECT_EQ(get_json(base + "?step=1").find("trials")->as_list().size(), 1u);
  EXPECT_EQ(get_json(base + "?page_token=9&step=1").find("trials")->as_list().size(), 0u);
}

TEST_F(StudyApiTest, TellsWhichParametersMatter) {
  for (int i = 0; i < 3; ++i) post_json("trials:ask", "");
  for (int i = 0; i < 3; ++i) {
    const json::Value trial =
        get_json(path("trials")).find("trials")->as_list().at(static_cast<std::size_t>(i));
    post_json("trials/" + std::to_string(i) + ":tell",
              "{\"value\": " + trial.find("params")->find("x")->dump() + "}");
  }
  const json::Value shares = get_json(path("importance"));
  EXPECT_EQ(shares.find("importance")->as_list().size(), 1u);
}

TEST_F(StudyApiTest, NamesWhatIsWrong) {
  EXPECT_EQ(text(post_json("trials/0:tell", R"({"value": 1})", 404), "field"), "\"trial\"");
  EXPECT_EQ(text(post_json("trials/one:tell", R"({"value": 1})", 422), "field"), "\"trial\"");
  EXPECT_EQ(text(post_json("trials:ask?step=train", "", 404), "field"), "\"step\"");
  EXPECT_EQ(text(post_json("trials:ask", R"({"lease": "1ms"})", 422), "field"), "\"lease\"");
  const JobId plain = home_.submit({step("a")});
  EXPECT_EQ(post("/api/v1/jobs/" + plain.str() + "/trials:ask").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + plain.str() + "/trials").status, 404);
}

// Of a home whose state keeps one finished job.
class ArchivedApiTest : public StudyApiTest {
 protected:
  ArchivedApiTest() : StudyApiTest({.finished_jobs = 1}) {}

  // Trivial jobs that end after all others, so that these are archived.
  void push_out() {
    for (int more = 0; more < 2; ++more) {
      submit({step("later")});
      end_all(0);
    }
  }
  // What is said to each of these, which stand between bars.
  std::string answers(const std::string& id, const std::string& rests) {
    std::string told;
    std::istringstream words(rests);
    for (std::string rest; std::getline(words, rest, '|');) {
      const http::Response response = get("/api/v1/jobs/" + id + rest);
      EXPECT_EQ(response.status, 200) << rest << ": " << response.body;
      told.append(rest).append(" ").append(response.body).append("\n");
    }
    return told;
  }
  std::size_t entries_with(const std::string& id) const {
    std::size_t count = 0;
    for (const auto& [key, entry] : home_.watch.storage->archive) {
      if (key.find(id) != std::string::npos) ++count;
    }
    return count;
  }
};

TEST_F(ArchivedApiTest, AStudyAnswersAsItDidWhenItWasRecent) {
  for (int trial = 0; trial < 3; ++trial) {
    const std::string at = "trials/" + std::to_string(trial);
    post_json("trials:ask", "");
    post_json(at + ":report", R"({"step": 1, "value": 9})");
    post_json(at + ":tell", "{\"value\": " + std::to_string(trial) + "}");
  }
  const std::string asked =
      "|?include=spec|?include=progress|/tasks|/tasks?step=tune&status=succeeded|/tasks/tune/1|"
      "/trials|/trials?limit=1&page_token=1|/trials/2|/importance|/metrics?step=tune|/usage|/"
      "explain";
  const std::string before = answers(study_.str(), asked);
  const json::Value listed = get_json("/api/v1/jobs?kind=study");
  push_out();
  ASSERT_GT(entries_with(study_.str()), 1U);
  EXPECT_EQ(answers(study_.str(), asked), before);
  EXPECT_EQ(get_json("/api/v1/jobs?kind=study").dump(), listed.dump());
  EXPECT_EQ(text(post_json("trials:ask", ""), "finished"), "true");
  EXPECT_EQ(post(path("trials/0:tell"), R"({"value": 1})").status, 409);
  EXPECT_EQ(get(path("logs?step=tune")).status, 200);
  EXPECT_EQ(logs_->last_query.step, StepIndex(0)) << "steps are known by their names";
  EXPECT_EQ(get(path("logs?step=train")).status, 404);
}

TEST_F(ArchivedApiTest, AFailedJobIsTriedAgainAndLeavesTheArchive) {
  const std::string id = submit({step("a", 3)});
  end_all(3);
  push_out();
  ASSERT_GT(entries_with(id), 1U);
  const http::Response archived = get("/api/v1/jobs/" + id);
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":cancel").status, 409);
  http::Request retry = http::Request::post("/api/v1/jobs/" + id + ":retry");
  retry.headers.set("If-Match", "\"1\"");
  EXPECT_EQ(ask(retry).status, 412);
  ASSERT_GT(entries_with(id), 1U);
  retry.headers.set("If-Match", std::string(*archived.headers.find("ETag")));
  const http::Response retried = ask(retry);
  ASSERT_EQ(retried.status, 200) << retried.body;
  EXPECT_EQ(entries_with(id), 0U) << "it is in one place";
  EXPECT_EQ(node_->started.size(), 3U);
  const std::string folded = brain::encode_state(home_.control().state());
  EXPECT_EQ(brain::encode_state(
                MUST(recover(*MUST(store::open_memory_log(home_.watch.storage)))).brain.state()),
            folded)
      << "a replay knows it as well";
  end_all(0);
  push_out();
  ASSERT_GT(entries_with(id), 1U);
  const json::Value task = get_json("/api/v1/jobs/" + id + "/tasks/a/2");
  EXPECT_EQ(task.find("attempts")->as_list().size(), 2U) << task.dump();
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":retry").status, 409) << "it has succeeded";
}

TEST_F(ArchivedApiTest, NothingIsLeftOfADeletedOne) {
  const std::string id = submit({step("a")});
  end_all(3);
  push_out();
  ASSERT_EQ(entries_with(id), 2U);
  http::Request remove = http::Request::get("/api/v1/jobs/" + id);
  remove.method = http::Method::kDelete;
  EXPECT_EQ(ask(remove).status, 200);
  EXPECT_EQ(entries_with(id), 1U) << "that it was deleted";
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":retry").status, 404);
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

TEST_F(ApiTest, ExplainsWaiting) {
  const std::string id = submit({step("a"), step("b", 1)});
  submit({step("big", 40)});
  const json::Value doc = get_json("/api/v1/jobs/" + id + "/explain");
  EXPECT_EQ(doc.find("id")->as_text(), id);
  EXPECT_TRUE(doc.find("waits")->is_list());
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
      if (path == "/openapi.json") continue;
      ASSERT_NE(content, nullptr) << verb << " " << path;
      const std::string name =
          content->find("application/json")->find("schema")->find("$ref")->as_text();
      EXPECT_NE(schemas.find(name.substr(name.rfind('/') + 1)), nullptr) << name;
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

}  // namespace
}  // namespace runnel::control
