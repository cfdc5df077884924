// Jobs that have left the state, as the API tells of them.
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "control/api/api.h"
#include "control/job_id.h"
#include "control/leftovers.h"
#include "control/recovery.h"
#include "control/testing/api_test.h"
#include "store/memory/memory_log.h"

namespace runnel::control {
namespace {

using testing::step;
using testing::StudyApiTest;

// Runs on a home whose state keeps one finished job.
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
  // The answers to each of these, which stand between bars.
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

// Found by reading: a job that came back from the archive while the log was asked about many others
// was taken for unknown, and its files were moved to lost+found.
TEST_F(ArchivedApiTest, OneThatIsTriedAgainMeanwhileIsNoLeftover) {
  const std::string id = submit({step("a")});
  end_all(3);
  push_out();
  ASSERT_EQ(entries_with(id), 2U);
  JobIdMaker ids(7, home_.clock.wall());
  std::vector<JobId> many;
  for (int i = 0; i < 60'000; ++i) many.push_back(ids.next(home_.clock.wall()));
  many.emplace_back(id);
  std::optional<Leftovers> found;
  async::Gate gate(*home_.loop);
  struct Asking {
    static Async<void> run(Controller* control, std::vector<JobId> jobs,
                           std::optional<Leftovers>& into) {
      Result<Leftovers> told = co_await leftovers(control, std::move(jobs));
      into = CO_TRY(std::move(told));
      co_return {};
    }
  };
  MUST(home_.loop->spawn(gate, Asking::run(&home_.control(), many, found)));
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":retry").status, 200);
  EXPECT_FALSE(found) << "it is asked about last, and comes back before";
  MUST(home_.loop->block_on(gate.close()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->unknown.size(), many.size() - 1);
  end_all(0);
}

TEST_F(ArchivedApiTest, AKeyWhoseJobWasDeletedSaysSo) {
  http::Request request = http::Request::post("/api/v1/jobs", body_of({step("a")}));
  request.headers.set("Idempotency-Key", "k1");
  const http::Response made = ask(request);
  ASSERT_EQ(made.status, 201);
  const std::string job(made.headers.find("Location").value());
  end_all(0);
  ASSERT_LT(ask(http::Request{.method = http::Method::kDelete, .path = job}).status, 300);
  const http::Response again = ask(request);
  EXPECT_EQ(again.status, 410);
  EXPECT_EQ(http::error_of(again).field, "Idempotency-Key");
  EXPECT_NE(again.body.find("was deleted"), std::string::npos) << again.body;
}

TEST_F(ArchivedApiTest, NothingIsLeftOfADeletedOne) {
  const std::string id = submit({step("a")});
  end_all(3);
  push_out();
  ASSERT_EQ(entries_with(id), 2U);
  http::Request remove = http::Request::get("/api/v1/jobs/" + id);
  remove.method = http::Method::kDelete;
  remove.headers.set("If-Match", "\"1\"");
  EXPECT_EQ(ask(remove).status, 412);
  ASSERT_EQ(entries_with(id), 2U) << "it has changed since";
  remove.headers.set("If-Match", std::string(*get("/api/v1/jobs/" + id).headers.find("ETag")));
  EXPECT_EQ(ask(remove).status, 200);
  EXPECT_EQ(entries_with(id), 1U) << "that it was deleted";
  EXPECT_EQ(post("/api/v1/jobs/" + id + ":retry").status, 404);
}

}  // namespace
}  // namespace runnel::control
