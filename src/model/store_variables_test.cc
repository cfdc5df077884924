#include "model/store_variables.h"

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

TEST(StoreVariables, AreThoseThatBucketsAreReachedBy) {
  EXPECT_TRUE(is_store_source("env:AWS_SECRET_ACCESS_KEY"));
  for (const char* source : {"AWS_SECRET_ACCESS_KEY", "env:AWS_PAGER", "env:HOME", "env:", ""}) {
    EXPECT_FALSE(is_store_source(source)) << source;
  }
  for (const std::string_view name : store_variables()) {
    EXPECT_TRUE(is_store_source("env:" + std::string(name)));
  }
}

TEST(StoreVariables, AreNeededWhereAVolumeIsInABucket) {
  JobSpec spec;
  spec.steps.resize(2);
  EXPECT_FALSE(reads_a_bucket(spec));
  spec.steps[1].volumes = {{"data", "fashion", "latest", "file:///s3"}};
  EXPECT_FALSE(reads_a_bucket(spec));
  spec.steps[1].volumes.push_back({"more", "fashion", "latest", "s3://bucket/prefix"});
  EXPECT_TRUE(reads_a_bucket(spec));
  spec.steps[1].volumes.pop_back();
  spec.steps[1].volumes[0].linked = true;
  EXPECT_TRUE(reads_a_bucket(spec));
}

}  // namespace
}  // namespace runnel::model
