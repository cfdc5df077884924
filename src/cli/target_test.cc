#include "cli/target.h"

#include <gtest/gtest.h>

#include "http/message.h"

namespace runnel::cli {
namespace {

TEST(Target, CarriesWhateverWasTyped) {
  for (const std::string typed : {"50%", "a%zz", "a/b", "a b", "a?b=c#d", "+2", "\xff\n", ""}) {
    const http::Request request =
        http::Request::get(with_query(job_target("j", "/logs"), "since", typed));
    EXPECT_EQ(request.path, "/api/v1/jobs/j/logs");
    EXPECT_EQ(request.query_value("since").value_or(""), typed);
    EXPECT_TRUE(http::Request::get(job_target(typed)).query.empty()) << typed;
  }
}

TEST(Target, AddsValuesInTheirOrder) {
  EXPECT_EQ(with_query(with_query("/x", "a", "1"), "b", "2"), "/x?a=1&b=2");
}

}  // namespace
}  // namespace runnel::cli
