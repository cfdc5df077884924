#include "control/api/query.h"

#include <gtest/gtest.h>

#include "control/api/queries.h"
#include "json/value.h"

namespace runnel::control {
namespace {

http::Request asked(http::Request::Pairs query) {
  http::Request request = http::Request::get("/");
  request.query = std::move(query);
  return request;
}

template <typename Query>
Query read(http::Request::Pairs query) {
  return MUST(read_query<Query>(asked(std::move(query))));
}

template <typename Query>
Error error_of(http::Request::Pairs query) {
  const Result<Query> read = read_query<Query>(asked(std::move(query)));
  EXPECT_FALSE(read.ok());
  return read.ok() ? Error(Errc::kInvalid, "it was read") : read.error();
}

TEST(Query, ReadsLimits) {
  EXPECT_EQ(read<TaskListQuery>({}).limit, kPageDefault);
  EXPECT_EQ(read<TaskListQuery>({{"limit", ""}}).limit, kPageDefault);
  EXPECT_EQ(read<TaskListQuery>({{"limit", "7"}}).limit, 7);
  for (const char* bad : {"0", "-1", "1001", "x", "1x", "9999999999999999999999"}) {
    const Error error = error_of<TaskListQuery>({{"limit", bad}});
    EXPECT_EQ(error.field, "limit") << bad;
    EXPECT_EQ(error.value, bad);
    EXPECT_EQ(error.code, Errc::kInvalid);
    EXPECT_NE(error.message.find("from 1 to 1000"), std::string::npos) << error.message;
  }
}

TEST(Query, ReadsNumbersThatMayBeMissing) {
  EXPECT_EQ(read<LogsQuery>({}).task, std::nullopt);
  EXPECT_EQ(read<LogsQuery>({{"task", "0"}}).task, TaskIndex(0));
  EXPECT_EQ(read<EventsQuery>({{"after", "9223372036854775807"}}).after,
            EventSeq(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(error_of<LogsQuery>({{"rank", "2147483648"}}).field, "rank");
  EXPECT_EQ(error_of<LogsQuery>({{"tail", "1000001"}}).field, "tail");
}

TEST(Query, ReadsLengthsOfTime) {
  EXPECT_EQ(read<PreemptQuery>({}).notice, Duration::seconds(30));
  EXPECT_EQ(read<PreemptQuery>({{"notice", "2m"}}).notice, Duration::minutes(2));
  EXPECT_EQ(read<PreemptQuery>({{"notice", "0s"}}).notice, Duration());
  for (const char* bad : {"12", "-1s", "8d", "soon"}) {
    EXPECT_EQ(error_of<PreemptQuery>({{"notice", bad}}).field, "notice") << bad;
  }
}

TEST(Query, ReadsFlags) {
  EXPECT_EQ(read<EventsQuery>({}).watch, Flag::kOff);
  EXPECT_EQ(read<EventsQuery>({{"watch", ""}}).watch, Flag::kOn);
  EXPECT_EQ(read<EventsQuery>({{"watch", "1"}}).watch, Flag::kOn);
  EXPECT_EQ(read<EventsQuery>({{"watch", "false"}}).watch, Flag::kOff);
  EXPECT_EQ(error_of<EventsQuery>({{"watch", "maybe"}}).to_string(),
            "watch: 'maybe' is neither 1 nor 0; write ?watch=1");
}

TEST(Query, ReadsStatusesInAnyCase) {
  EXPECT_EQ(read<TaskListQuery>({{"status", "failed"}}).status, model::Status::kFailed);
  EXPECT_EQ(read<TaskListQuery>({}).status, std::nullopt);
  EXPECT_EQ(error_of<TaskListQuery>({{"status", "lost"}}).field, "status");
  EXPECT_EQ(error_of<JobListQuery>({{"filter", "lost"}}).field, "filter");
}

TEST(Query, ReadsWords) {
  EXPECT_EQ(read<JobQuery>({}).include, Include::kNothing);
  EXPECT_EQ(read<JobQuery>({{"include", "progress"}}).include, Include::kProgress);
  EXPECT_EQ(error_of<JobQuery>({{"include", "all"}}).to_string(),
            "include: 'all' is not spec or progress; write spec or progress, or leave the "
            "parameter out");
  EXPECT_NE(error_of<JobQuery>({{"include", "spce"}}).hint.find("'spec'"), std::string::npos);
  EXPECT_EQ(error_of<EventsQuery>({{"until", "noon"}}).value, "noon");
}

TEST(Query, ReadsSinceAsAgeOrMoment) {
  const Time now = Time::from_millis(1'700'000'000'000);
  EXPECT_EQ(read<LogsQuery>({{"since", "10m"}}).since->at(now), now - Duration::minutes(10));
  EXPECT_EQ(read<LogsQuery>({{"since", rfc3339(now)}}).since->at(Time()), now);
  EXPECT_EQ(error_of<LogsQuery>({{"since", "yesterday"}}).to_string(),
            "since: 'yesterday' is neither a length of time nor a moment; "
            "write 10m, 2h30m or 2026-11-21T14:05:28Z");
}

TEST(Query, NamesTheNearestParameterBeforeAnyOtherError) {
  const Error error = error_of<LogsQuery>({{"tail", "many"}, {"folow", "1"}});
  EXPECT_EQ(error.field, "folow");
  EXPECT_NE(error.hint.find("'follow'"), std::string::npos);
  EXPECT_EQ(error_of<NoQuery>({{"x", "1"}}).hint, "see /openapi.json for those it has");
  EXPECT_EQ(error_of<LogsQuery>({{"step", "\xff"}}).message, "is not UTF-8 text");
}

TEST(Query, IsDescribedByTheSameFields) {
  EXPECT_TRUE(query_parameters<NoQuery>().empty());
  const json::Value::List parameters = query_parameters<EventsQuery>();
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(parameters[0].dump(),
            R"({"in":"query","name":"after","required":false,"schema":{"minimum":0,)"
            R"("type":"integer"}})");
  EXPECT_EQ(parameters[1].find("schema")->dump(),
            R"({"default":50,"maximum":1000,"minimum":1,"type":"integer"})");
  EXPECT_EQ(parameters[2].find("schema")->dump(), R"({"enum":["end"],"type":"string"})");
}

}  // namespace
}  // namespace runnel::control
