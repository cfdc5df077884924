#include "http/router.h"

#include <gtest/gtest.h>

#include "async/testing/loop_test.h"

namespace runnel::http {
namespace {

Async<Reply> say(std::string text) { co_return Response::text(std::move(text)); }

// Answers with its name and the parameters.
Handler named(std::string name) {
  return [name](Request request) {
    std::string text = name;
    for (const auto& [key, value] : request.params) text += " " + key + "=" + value;
    return say(std::move(text));
  };
}

class RouterTest : public async::testing::LoopTest {
 protected:
  RouterTest() {
    router_.get("/", named("root"));
    router_.get("/api/v1/jobs", named("list"));
    router_.post("/api/v1/jobs", named("create"));
    router_.get("/api/v1/jobs/{id}", named("show"));
    router_.del("/api/v1/jobs/{id}", named("delete"));
    router_.get("/api/v1/jobs/active", named("active"));
    router_.post("/api/v1/jobs/{id}:cancel", named("cancel"));
    router_.get("/api/v1/jobs/{id}/tasks/{task}", named("task"));
    router_.post("/api/v1/jobs/{job}/tasks/{task}:retry", named("retry"));
    router_.post("/api/v1:flush", named("flush"));
    router_.get("/api/v1/{noun}/x/deep", named("deep"));
  }

  Response ask(Method method, std::string path) {
    Request request;
    request.method = method;
    request.path = std::move(path);
    Reply reply = MUST(wait(router_.handle(std::move(request))));
    return std::get<Response>(std::move(reply));
  }
  std::string get(std::string path) { return ask(Method::kGet, std::move(path)).body; }
  std::string post(std::string path) { return ask(Method::kPost, std::move(path)).body; }

  Router router_;
};

TEST_F(RouterTest, MatchesLiteralsAndParameters) {
  EXPECT_EQ(get("/"), "root");
  EXPECT_EQ(get("/api/v1/jobs"), "list");
  EXPECT_EQ(get("/api/v1/jobs/"), "list");
  EXPECT_EQ(post("/api/v1/jobs"), "create");
  EXPECT_EQ(get("/api/v1/jobs/j-1"), "show id=j-1");
  EXPECT_EQ(get("/api/v1/jobs/j-1/tasks/7"), "task id=j-1 task=7");
}

TEST_F(RouterTest, ALiteralWinsAndTheSearchGoesBack) {
  EXPECT_EQ(get("/api/v1/jobs/active"), "active");
  EXPECT_EQ(get("/api/v1/jobs/active/tasks/1"), "task id=active task=1");
  EXPECT_EQ(get("/api/v1/jobs/x/deep"), "deep noun=jobs");
}

TEST_F(RouterTest, ActionsAreReachedInBothForms) {
  EXPECT_EQ(post("/api/v1/jobs/j-1:cancel"), "cancel id=j-1");
  EXPECT_EQ(post("/api/v1/jobs/j-1/cancel"), "cancel id=j-1");
  EXPECT_EQ(post("/api/v1/jobs/j-1/tasks/3:retry"), "retry job=j-1 task=3");
  EXPECT_EQ(post("/api/v1:flush"), "flush");
  EXPECT_EQ(ask(Method::kPost, "/api/v1/jobs/j-1/cancel/more").status, 404);
}

TEST_F(RouterTest, AColonThatIsNoActionBelongsToTheParameter) {
  EXPECT_EQ(get("/api/v1/jobs/a:b"), "show id=a:b");
  EXPECT_EQ(post("/api/v1/jobs/a:b:cancel"), "cancel id=a:b");
}

TEST_F(RouterTest, HeadUsesGet) { EXPECT_EQ(ask(Method::kHead, "/api/v1/jobs").body, "list"); }

TEST_F(RouterTest, WhatIsNotThereIs404AsAProblem) {
  for (const char* path : {"/x", "/api", "/api/v1/jobs//tasks/1", "/api/v1/jobs/j-1/tasks"}) {
    Response response = ask(Method::kGet, path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(error_of(response).code, Errc::kNotFound);
    EXPECT_EQ(error_of(response).value, path);
  }
}

TEST_F(RouterTest, AnotherMethodIs405AndNamesTheRightOnes) {
  Response response = ask(Method::kPut, "/api/v1/jobs/j-1");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.find("Allow"), "GET, DELETE");
  EXPECT_EQ(error_of(response).hint, "use GET, DELETE");
}

TEST_F(RouterTest, RegisteringTwiceEndsTheProcess) {
  EXPECT_DEATH(router_.get("/api/v1/jobs/{other}", named("again")), "registered twice");
}

TEST_F(RouterTest, AskingForAnUnknownParameterEndsTheProcess) {
  router_.get("/bad/{id}", [](Request request) { return say(request.param("name")); });
  EXPECT_DEATH({ (void)get("/bad/1"); }, "no such parameter");
}

}  // namespace
}  // namespace runnel::http
