#include "control/api/trial_routes.h"

// Trials that are asked for and told over the API.
#include <gtest/gtest.h>

#include "control/api/api.h"
#include "control/testing/api_test.h"

namespace runnel::control {
namespace {

using testing::step;
using testing::StudyApiTest;

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

TEST_F(StudyApiTest, NamesTheBestSoFarUntilThereIsABest) {
  model::StepSpec spec = home_.control().state().jobs.at(study_).spec->steps.front();
  spec.search->pruner = model::PrunerSpec{.max_step = 8, .eta = 2};
  study_ = home_.submit({spec});
  const auto search = [&] {
    const json::Value job = get_json("/api/v1/jobs/" + study_.str());
    EXPECT_EQ(fault(job, "/api/v1/jobs/{id}"), "");
    return *job.find("steps")->as_list().front().find("search");
  };
  for (int i = 0; i < 2; ++i) post_json("trials:ask", "");
  EXPECT_EQ(text(search(), "best_so_far"), "(none)");
  post_json("trials/0:report", R"({"step": 4, "metrics": {"loss": 7}})");
  post_json("trials/1:report", R"({"step": 4, "metrics": {"loss": 5}})");
  const json::Value leader = *search().find("best_so_far");
  EXPECT_EQ(text(leader, "trial"), "1");
  EXPECT_EQ(text(leader, "step"), "4");
  EXPECT_EQ(text(leader, "status"), "\"RUNNING\"");
  EXPECT_EQ(text(leader, "values"), R"({"loss":5})");
  EXPECT_EQ(search().find("best"), nullptr);
  post_json("trials/0:tell", R"({"value": 9})");
  EXPECT_EQ(search().find("best_so_far"), nullptr) << "one has come to its end";
  EXPECT_EQ(text(*search().find("best"), "trial"), "0");
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
  EXPECT_NE(text(late, "detail").find("halted"), std::string::npos) << late.dump();
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

}  // namespace
}  // namespace runnel::control
