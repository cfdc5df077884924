#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/api/api.h"
#include "control/testing/home.h"
#include "control/testing/paper_logs.h"
#include "control/testing/schemas.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "http/client.h"
#include "http/server.h"
#include "json/value.h"
#include "model/codec.h"

namespace runnel::control::testing {

// The API of a home with one node over a real Unix socket: what a client sees.
class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(brain::Limits limits = {})
      : folder_(MUST(env::make_temporary_directory("runnel-api-"))) {
    home_.options.log.limits = limits;
    home_.open();
    node_ = std::make_unique<FakeNode>(*home_.loop, home_.control(), "n1",
                                       FakeNode::Behaviour::kSilent);
    EXPECT_TRUE(home_.wait(node_->join(4)).ok());
    logs_ = std::make_unique<PaperLogs>(*home_.loop);
    ApiHost host;
    host.info = [this] {
      return HomeInfo{.home = "/home/x/.runnel",
                      .socket = "/home/x/.runnel/sock",
                      .version = "1.2.3",
                      .daemon_pid = 7,
                      .runner_pid = runner_pid_,
                      .runner_silence = std::nullopt,
                      .slow_starts = slow_starts_,
                      .notices = {"a notice"}};
    };
    host.room = []() -> Async<std::optional<Silence>> { co_return std::optional<Silence>(); };
    host.stop = [this] { stop_asked_ = true; };
    host.preempt = [this](Preemption what) {
      preempted_ = what;
      return home_.control().nodes().give_notice(what.node, what.notice);
    };
    host.account = {::geteuid(), "ann"};
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
    EXPECT_TRUE(home_.wait(api_->stop()).ok());
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
    return MUST(json::parse(response.body)).find("id")->as_text();
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
  std::unique_ptr<FakeNode> node_;
  std::unique_ptr<PaperLogs> logs_;
  http::Router router_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Client> client_;
  std::string streamed_;
  std::int64_t runner_pid_ = 8;
  std::vector<SlowStart> slow_starts_;
  bool stop_asked_ = false;
  Preemption preempted_;
};

// With a study whose trials a client runs.
class StudyApiTest : public ApiTest {
 protected:
  explicit StudyApiTest(brain::Limits limits = {}) : ApiTest(limits) {
    model::StepSpec tune = step("tune", 3);
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

}  // namespace runnel::control::testing
