#include "object/store_url.h"

#include <gtest/gtest.h>

namespace runnel::object {
namespace {

TEST(StoreUrl, ReadsBothForms) {
  const StoreUrl folder = MUST(parse_store_url("file:///data//volumes/"));
  EXPECT_EQ(folder.path, "/data/volumes");
  EXPECT_EQ(folder.to_string(), "file:///data/volumes");
  const StoreUrl bucket = MUST(parse_store_url("s3://my-bucket/some/prefix/"));
  EXPECT_EQ(bucket.bucket, "my-bucket");
  EXPECT_EQ(bucket.prefix, "some/prefix");
  EXPECT_EQ(MUST(parse_store_url("s3://my-bucket")).to_string(), "s3://my-bucket");
}

TEST(StoreUrl, RefusesOthersByName) {
  for (const char* text : {"", "/data", "file://data", "file:///", "s3://", "s3://ab", "s3://UP/x",
                           "s3://bucket/a//b", "s3://bucket/a b"}) {
    const Result<StoreUrl> url = parse_store_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code, Errc::kInvalid) << text;
    EXPECT_FALSE(url.error().hint.empty()) << text;
  }
  EXPECT_EQ(parse_store_url("gs://bucket").error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace runnel::object
