#include "control/api/patience.h"

#include <chrono>
#include <variant>

#include <gtest/gtest.h>

#include "async/together.h"
#include "control/api/api.h"
#include "control/testing/home.h"
#include "http/message.h"
#include "json/value.h"
#include "model/codec.h"

namespace runnel::control {
namespace {

using testing::FakeNode;
using testing::Home;
using testing::step;

class NoLogs final : public LogSource {
 public:
  Async<model::LogPage> read(NodeIds, model::LogFilter, std::string) override {
    co_return model::LogPage();
  }
  Async<void> changed(NodeIds, JobId, async::StopToken) override { co_return {}; }
  Async<model::MetricPage> read_metrics(NodeIds, model::MetricFilter) override {
    co_return model::MetricPage();
  }
  Async<std::vector<model::TaskUsage>> read_usage(NodeIds, JobId) override {
    co_return std::vector<model::TaskUsage>();
  }
};

// A home whose disk stops to answer, and an API that is asked without a connection between.
class SilentDiskTest : public ::testing::Test {
 protected:
  static constexpr Duration kPatience = Duration::millis(200);

  SilentDiskTest() {
    home_.open();
    node_ = std::make_unique<FakeNode>(*home_.loop, home_.control(), "n1",
                                       FakeNode::Behaviour::kSilent);
    EXPECT_TRUE(home_.wait(node_->join(4)).ok());
    ApiHost host;
    host.info = [] {
      HomeInfo info;
      info.home = "/home/x/.runnel";
      return info;
    };
    host.room = [this] { return room(); };
    api_ = std::make_unique<Api>(*home_.loop, home_.control(), logs_, std::move(host), kPatience);
    api_->add_routes(router_);
  }
  ~SilentDiskTest() override {
    passing_.cancel();
    EXPECT_TRUE(home_.wait(api_->stop()).ok());
    EXPECT_TRUE(home_.wait(node_->stop()).ok());
    home_.stop();
  }

  http::Response ask(http::Request request) {
    request.peer_uid = 0;  // Without a socket nobody tells.
    Result<http::Reply> reply = home_.wait(router_.handle(std::move(request)));
    if (!reply.ok()) return http::problem(reply.error());
    return std::get<http::Response>(*std::move(reply));
  }
  http::Response get(const std::string& target) { return ask(http::Request::get(target)); }
  json::Value get_json(const std::string& target) {
    const http::Response response = get(target);
    EXPECT_EQ(response.status, 200) << response.body;
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
    return home_.submit(std::move(steps)).str();
  }
  // The log answers nothing from here on.
  void silence() {
    home_.watch.held.lock();
    let_silence_pass();
  }
  // Time passes from each moment on at which the disk has become silent.
  void let_silence_pass() {
    passing_.start(Duration::millis(20), [this] {
      const std::optional<Duration> silent = home_.control().disk_silent_for();
      if (silent && *silent < kPatience) home_.clock.advance(Duration::seconds(1));
      let_silence_pass();
    });
  }
  void answer_again() { home_.watch.held.unlock(); }
  static http::Request keyed(const std::string& body, const std::string& key) {
    http::Request request = http::Request::post("/api/v1/jobs", body);
    request.headers.set("Idempotency-Key", key);
    return request;
  }
  std::size_t jobs() { return get_json("/api/v1/jobs").find("jobs")->as_list().size(); }

  Async<std::optional<Silence>> room() { co_return room_; }

  Result<std::optional<Silence>> room_ = std::optional<Silence>();
  Home home_;
  NoLogs logs_;
  http::Router router_;
  std::unique_ptr<FakeNode> node_;
  std::unique_ptr<Api> api_;
  async::Timer passing_{*home_.loop};
};

void expect_disk_named(const http::Response& response) {
  EXPECT_EQ(response.status, 503) << response.body;
  const Error error = http::error_of(response);
  EXPECT_NE(error.message.find("the disk of the home /home/x/.runnel has not answered since 20"),
            std::string::npos)
      << error.message;
  EXPECT_NE(error.hint.find("fsfreeze --unfreeze"), std::string::npos) << error.hint;
}

// A disk that answers with errors is not one that does not answer.
void expect_error_told(const http::Response& response) {
  EXPECT_EQ(response.status, 503) << response.body;
  const Error error = http::error_of(response);
  EXPECT_NE(error.message.find("the event log of the home /home/x/.runnel cannot be opened since"),
            std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("the disk is gone"), std::string::npos) << error.message;
}

TEST_F(SilentDiskTest, IsNamedAndLosesNothing) {
  const std::string before = submit({step("a")});
  silence();
  expect_disk_named(ask(keyed(body_of({step("b")}), "once")));
  expect_disk_named(get("/api/v1/jobs/" + before));
  expect_disk_named(get("/api/v1/jobs"));
  expect_disk_named(post("/api/v1/jobs/" + before + ":cancel"));
  EXPECT_EQ(get("/healthz").status, 200);
  const json::Value info = get_json("/api/v1/home");
  EXPECT_NE(info.find("disk_silence"), nullptr);
  const json::Value why = get_json("/api/v1/jobs/" + before + "/explain");
  EXPECT_EQ(why.find("waits")->as_list().at(0).find("reason")->as_text(), "DiskSilent");
  answer_again();
  // Both go on by themselves: the repeat finds the job that its first asking made.
  EXPECT_EQ(ask(keyed(body_of({step("b")}), "once")).status, 201);
  EXPECT_EQ(jobs(), 2U);
  EXPECT_EQ(node_->stopped.size(), 1U);
  EXPECT_EQ(get_json("/api/v1/home").find("disk_silence"), nullptr);
}

// Its destructor also shows that no end waits for such a log.
TEST_F(SilentDiskTest, IsTakenForSilentWhenItsLogCannotBeOpenedAnew) {
  model::StepSpec secret = step("a");
  secret.secrets = {{"TOKEN", "env:TOKEN"}};
  const std::string body = body_of({secret}, R"(,"secrets":{"env:TOKEN":"hush"})");
  home_.watch.storage->next_append = store::AppendFault::kKept;
  home_.watch.away = true;
  let_silence_pass();
  expect_error_told(ask(keyed(body, "once")));
  expect_error_told(get("/api/v1/jobs"));
  EXPECT_EQ(home_.secrets.kept().size(), 1U) << "the log may have the job";
  home_.watch.away = false;
  EXPECT_EQ(ask(keyed(body, "once")).status, 201);
  EXPECT_EQ(jobs(), 1U);
  EXPECT_EQ(home_.secrets.kept().size(), 1U);
  home_.watch.broken = true;
  let_silence_pass();
  expect_error_told(ask(keyed(body_of({step("b")}), "twice")));
}

TEST_F(SilentDiskTest, LeavesNoSecretOfWhatItDidNotTake) {
  model::StepSpec secret = step("a");
  secret.secrets = {{"TOKEN", "env:TOKEN"}};
  const std::string values = R"(,"secrets":{"env:TOKEN":"hush"})";
  home_.secrets.held.lock();
  let_silence_pass();
  expect_disk_named(ask(keyed(body_of({secret}, values), "once")));
  expect_disk_named(ask(keyed(body_of({secret}, values), "once")));
  secret.name = "other";
  expect_disk_named(ask(keyed(body_of({secret}, values), "once")));  // Will be refused.
  home_.secrets.held.unlock();
  // All of them are stored by then, and those that were not taken are wiped after it.
  home_.until([this] { return home_.control().disk_silent_for() == std::nullopt; });
  home_.until([this] { return home_.secrets.kept().size() == 1U; });
  EXPECT_EQ(jobs(), 1U);
  EXPECT_EQ(home_.secrets.kept().size(), 1U);
}

TEST_F(SilentDiskTest, RefusesAtOnceWhenManyAreLeftWaiting) {
  silence();
  expect_disk_named(post("/api/v1/jobs", body_of({step("a")})));
  std::vector<Async<http::Reply>> many;
  for (int asked = 1; asked < Patience::kUnansweredMax; ++asked) {
    http::Request list = http::Request::get("/api/v1/jobs");
    list.peer_uid = 0;
    many.push_back(router_.handle(std::move(list)));
  }
  EXPECT_FALSE(home_.wait(async::when_all(*home_.loop, std::move(many))).ok());
  const auto begun = std::chrono::steady_clock::now();
  expect_disk_named(get("/api/v1/jobs"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(200));
  EXPECT_EQ(get("/api/v1/home").status, 200);
  answer_again();
  home_.until([this] { return get("/api/v1/jobs").status == 200; });
}

TEST_F(SilentDiskTest, TellsWhatAilsTheRoomOfTheDisk) {
  const std::string job = submit({step("a")});
  const auto reason = [&] {
    const json::Value why = get_json("/api/v1/jobs/" + job + "/explain");
    return why.find("waits")->as_list().at(0).find("reason")->as_text();
  };
  EXPECT_NE(reason(), "DiskFull");
  room_ = std::optional<Silence>({"the disk is full", "free some space"});
  const json::Value full = get_json("/api/v1/home");
  EXPECT_EQ(full.find("disk_full")->find("message")->as_text(), "the disk is full");
  EXPECT_EQ(full.find("disk_full")->find("remedy")->as_text(), "free some space");
  EXPECT_EQ(reason(), "DiskFull");
  room_ = Error(Errc::kUnavailable, "the disk has not answered");
  const json::Value silent = get_json("/api/v1/home");
  EXPECT_EQ(silent.find("disk_full"), nullptr);
  EXPECT_EQ(silent.find("disk_silence")->find("message")->as_text(), "the disk has not answered");
  EXPECT_EQ(reason(), "DiskSilent");
  for (const Errc code : {Errc::kFull, Errc::kIo}) {  // About the asker, not the disk.
    room_ = Error(code, "1024 reads wait already");
    const json::Value unknown = get_json("/api/v1/home");
    EXPECT_EQ(unknown.find("disk_full"), nullptr);
    EXPECT_EQ(unknown.find("disk_silence"), nullptr);
    EXPECT_NE(reason(), "DiskFull");
  }
}

}  // namespace
}  // namespace runnel::control
