#include "http/message.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::http {
namespace {

TEST(Headers, NamesCompareWithoutCaseAndKeepTheirOrder) {
  Headers headers;
  headers.add("Content-Type", "text/plain");
  headers.add("X-Tag", "1");
  headers.add("x-tag", "2");
  EXPECT_EQ(headers.find("content-TYPE"), "text/plain");
  EXPECT_EQ(headers.find("X-TAG"), "1");
  EXPECT_EQ(headers.find("X-Ta"), std::nullopt);
  headers.set("X-tAG", "3");
  EXPECT_EQ(headers.fields().size(), 2u);
  EXPECT_EQ(headers.find("x-tag"), "3");
}

TEST(Target, SplitsAndDecodes) {
  Request request;
  ASSERT_TRUE(parse_target("/a%20b/c?x=1&y=a+b%26c&flag&=odd&&z=", request).ok());
  EXPECT_EQ(request.path, "/a b/c");
  EXPECT_EQ(request.query_value("x"), "1");
  EXPECT_EQ(request.query_value("y"), "a b&c");
  EXPECT_EQ(request.query_value("flag"), "");
  EXPECT_EQ(request.query_value("z"), "");
  EXPECT_EQ(request.query_value("missing"), std::nullopt);
  EXPECT_EQ(request.query.size(), 5u);
}

TEST(Target, RefusesWhatCannotBeAPath) {
  Request request;
  for (const char* bad : {"", "a", "http://h/", "/%", "/%4", "/%zz", "/%00", "/?a=%x"}) {
    Result<void> parsed = parse_target(bad, request);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code, Errc::kInvalid);
  }
}

TEST(Target, SurvivesTheRoundTrip) {
  Request request;
  request.path = "/api/v1/jobs/j 1%:cancel";
  request.query = {{"filter", "a=b&c"}, {"follow", ""}, {"name", "\xC3\xBC+"}};
  Request back = Request::get(request.target());
  EXPECT_EQ(back.path, request.path);
  EXPECT_EQ(back.query, request.query);
  EXPECT_EQ(Request().target(), "/");
}

TEST(Percent, EncodesAllButUnreserved) {
  EXPECT_EQ(percent_encode("aZ9-._~ /%\xFF"), "aZ9-._~%20%2F%25%FF");
  EXPECT_EQ(percent_decode("%41%2f%C3%bc").value(), "A/\xC3\xBC");
}

TEST(Request, PostOfJsonSaysSo) {
  Request request = Request::post("/jobs?dry=1", "{}");
  EXPECT_EQ(request.method, Method::kPost);
  EXPECT_EQ(request.headers.find("content-type"), "application/json");
  EXPECT_EQ(request.query_value("dry"), "1");
}

TEST(Problem, CarriesWhatIsKnownAndLeavesOutTheRest) {
  Response bare = problem(Error(Errc::kNotFound, "no job 'x'"));
  EXPECT_EQ(bare.status, 404);
  EXPECT_EQ(bare.headers.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(bare.body,
            R"({"code":"not-found","detail":"no job 'x'","status":404,"title":"Not Found",)"
            R"("type":"urn:runnel:problem:not-found"})");
  EXPECT_FALSE(bare.headers.has("Retry-After"));
}

TEST(Problem, SurvivesTheRoundTrip) {
  Error error(Errc::kInvalid, "'12 \"bananas\"' is not an amount of bytes");
  error.with_field("resources.memory").with_value("12 \"bananas\"\n").with_hint("write 24GB");
  error.at({.file = "job.yaml", .line = 3, .column = 7});
  EXPECT_EQ(error_of(problem(error)), error);
}

TEST(Problem, TellsEveryFaultOfADocument) {
  Error error(Errc::kInvalid, "'a b' cannot be a name");
  error.with_field("spec.name").with_hint("write a-b");
  error.others.push_back(Error(Errc::kInvalid, "-1 is too small").with_field("spec.seed"));
  const Response response = problem(error);
  EXPECT_NE(
      response.body.find(R"("faults":[{"code":"invalid","detail":"'a b' cannot be a name",)"
                         R"("field":"spec.name","hint":"write a-b"},{"code":"invalid",)"
                         R"("detail":"-1 is too small","field":"spec.seed"}],"field":"spec.name")"),
      std::string::npos)
      << response.body;
  EXPECT_EQ(error_of(response), error);
}

TEST(Problem, AListOfFaultsThatIsNoneIsPassedOver) {
  for (const char* faults : {"7", "[7]", "[]", "[{},7]"}) {
    const std::string body = "{\"detail\":\"no\",\"faults\":" + std::string(faults) + "}";
    const Error error = error_of(Response::json_text(body, 422));
    EXPECT_EQ(error.message, "no") << faults;
    EXPECT_TRUE(error.others.empty()) << faults;
  }
}

TEST(Problem, FullAndUnavailableSayWhenToRetry) {
  EXPECT_TRUE(problem(Error(Errc::kFull, "x")).headers.has("Retry-After"));
  EXPECT_TRUE(problem(Error(Errc::kUnavailable, "x")).headers.has("Retry-After"));
}

TEST(Problem, EachKindHasAnErrorStatusAndComesBack) {
  for (int value = 0; value <= static_cast<int>(Errc::kInternal); ++value) {
    auto code = static_cast<Errc>(value);
    EXPECT_GE(status_of(code), 400);
    EXPECT_NE(reason(status_of(code)), "Status");
    EXPECT_EQ(error_of(problem(Error(code, "x"))).code, code);
  }
}

TEST(Problem, AForeignErrorPageBecomesAGenericError) {
  Response foreign = Response::text("<html>nginx</html>", 502);
  EXPECT_EQ(error_of(foreign).code, Errc::kUnavailable);
  EXPECT_EQ(error_of(Response::json_text("[1,2]", 404)).code, Errc::kNotFound);
  EXPECT_EQ(error_of(Response::json_text(R"({"detail":5,"code":[]})", 418)).code, Errc::kInvalid);
  EXPECT_EQ(error_of(Response::json_text(R"({"detail":"d","code":"new-kind"})", 410)),
            Error(Errc::kGone, "d"));
}

TEST(Percent, CarriesEveryByteButNulAndRefusesHalfEscapes) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every += static_cast<char>(byte);
  EXPECT_EQ(MUST(percent_decode(percent_encode(every))), every);
  for (const char* bad : {"%", "a%4", "%zz", "%-1", "%00"}) {
    EXPECT_EQ(percent_decode(bad).error().code, Errc::kInvalid) << bad;
  }
}

TEST(Request, FindsItsParametersByName) {
  Request request = Request::get("/x?a=1&a=2");
  EXPECT_EQ(request.query_value("a"), "1") << "the first counts";
  request.params.emplace_back("id", "7");
  EXPECT_EQ(request.param("id"), "7");
  EXPECT_DEATH((void)request.param("task"), "no such parameter");
}

}  // namespace
}  // namespace runnel::http
