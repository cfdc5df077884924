#include "control/api/route.h"

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

const Account kHome{1000, "ann"};

std::string actor_of(std::optional<std::uint32_t> uid) {
  http::Request request = http::Request::post("/api/v1/jobs?owner=mallory&actor=mallory");
  request.peer_uid = uid;
  const Result<model::Principal> asks = principal_of(request, kHome);
  return asks.ok() ? asks->actor : std::string(to_string(asks.error().code));
}

TEST(Principal, IsWhomTheKernelNames) {
  EXPECT_EQ(actor_of(1000), "ann");
  EXPECT_EQ(actor_of(0), "root");
  EXPECT_EQ(actor_of(1001), "uid 1001");
  EXPECT_EQ(actor_of(std::nullopt), "denied");
}

TEST(Principal, AsksForTheProjectOfThePath) {
  http::Request request = http::Request::get("/api/v1/projects/vision/jobs");
  request.peer_uid = 1000;
  EXPECT_EQ(MUST(principal_of(request, kHome)).project, ProjectId("default"));
  request.params = {{"project", "vision"}};
  EXPECT_EQ(MUST(principal_of(request, kHome)).project, ProjectId("vision"));
  request.params = {{"project", "No Project"}};
  EXPECT_EQ(principal_of(request, kHome).error().field, "project");
}

TEST(Body, IsRefusedWhereNobodyReadsIt) {
  http::Request request = http::Request::post("/api/v1/nodes/a:preempt");
  const Operation preempt{.method = http::Method::kPost, .path = "/nodes/{name}:preempt"};
  EXPECT_TRUE(check_body(preempt, request).ok());
  for (const char* nothing : {"{}", "{ }\n"}) {
    request.body = nothing;
    EXPECT_TRUE(check_body(preempt, request).ok()) << nothing;
  }
  for (const char* something : {R"({"notice":"5s"})", "null", "[]", "{"}) {
    request.body = something;
    EXPECT_EQ(check_body(preempt, request).error().field, "body") << something;
  }
  Operation submit = preempt;
  submit.body = "Submission";
  EXPECT_TRUE(check_body(submit, request).ok());
}

}  // namespace
}  // namespace runnel::control
