#include "volume_server/request_of_process.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace runnel::volume_server {
namespace {

TEST(RequestOfProcess, HasTheVariablesOfTheStoreAndNoOthers) {
  ::setenv("AWS_REGION", "here", 1);
  ::setenv("SECRET", "mine", 1);
  const MountRequest request = request_of_process(
      "data", "latest", "s3://bucket", volume::DiskCache::Options{"/cache", Bytes::mebi(128)});
  EXPECT_EQ(request.store, "s3://bucket");
  EXPECT_EQ(request.cache, "/cache");
  EXPECT_EQ(request.cache_bytes, 128 << 20);
  bool has_region = false;
  for (const std::string& variable : request.environment) {
    EXPECT_TRUE(is_of_store(variable)) << variable;
    has_region = has_region || variable == "AWS_REGION=here";
  }
  EXPECT_TRUE(has_region);
  ::unsetenv("AWS_REGION");
  ::unsetenv("SECRET");
}

TEST(RequestOfProcess, WithoutACacheItNamesNone) {
  EXPECT_EQ(request_of_process("data", "latest", "s3://bucket", {}).cache, "");
}

}  // namespace
}  // namespace runnel::volume_server
