#include "cli/volume_target.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(VolumeTarget, HasANameAVersionAndAPath) {
  const VolumeTarget bare = MUST(parse_volume_target("data"));
  EXPECT_EQ(bare.name, "data");
  EXPECT_EQ(bare.version_or_latest(), "latest");
  EXPECT_EQ(bare.path, "");
  const VolumeTarget whole = MUST(parse_volume_target("my.data@best:/a/b@c:d"));
  EXPECT_EQ(whole.name, "my.data");
  EXPECT_EQ(whole.version, "best");
  EXPECT_EQ(whole.path, "a/b@c:d");
  EXPECT_EQ(MUST(parse_volume_target("data:/")).path, "");
}

TEST(VolumeTarget, RefusesWhatCannotBeMeant) {
  for (const char* text :
       {"", ":/a", "data:a", "data@", "@v", "Data", "data@:/a", "data://a", "s3://bucket/a"}) {
    EXPECT_EQ(parse_volume_target(text).error().code, Errc::kInvalid) << text;
  }
}

TEST(VolumeTarget, ANameAloneIsNoMore) {
  EXPECT_EQ(MUST(parse_volume_name("data")), "data");
  for (const char* text : {"data@v", "data:/", "data:/a"}) {
    EXPECT_EQ(parse_volume_name(text).error().hint, "write data") << text;
  }
}

TEST(VolumeTarget, AVersionIsRefusedWhereANewOneIsMade) {
  EXPECT_TRUE(refuse_version(MUST(parse_volume_target("data:/a")), "a copy").ok());
  const Error error = refuse_version(MUST(parse_volume_target("data@v1:/a")), "a copy").error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.message, "a copy makes a new version, and takes none");
  EXPECT_EQ(error.hint, "leave out @v1");
}

TEST(CopyEnd, IsOfAVolumeOrOfThisMachine) {
  for (const char* local : {"a", "./data:/b", "/data:/b", "a/b:c", ".", "../x:/y", "file name"}) {
    const CopyEnd end = MUST(parse_copy_end(local));
    EXPECT_FALSE(end.target.has_value()) << local;
    EXPECT_EQ(end.local, local);
  }
  const CopyEnd end = MUST(parse_copy_end("data@v1:/a:b/c"));
  ASSERT_TRUE(end.target.has_value());
  EXPECT_EQ(end.target->name, "data");
  EXPECT_EQ(end.target->version, "v1");
  EXPECT_EQ(end.target->path, "a:b/c");
  EXPECT_EQ(MUST(parse_copy_end("data:/")).target->path, "");
}

TEST(CopyEnd, SaysHowAFileIsWrittenThatLooksLikeAVolume) {
  for (const char* text : {"data:a", "data:", "Data:/a", ":/a", "data@:/a"}) {
    const Error error = parse_copy_end(text).error();
    EXPECT_EQ(error.code, Errc::kInvalid) << text;
    EXPECT_NE(error.hint.find(std::string("./") + text), std::string::npos) << error.hint;
  }
}

TEST(CopyEnd, NamesTheVerbsForUrls) {
  for (const char* text : {"s3://bucket/a", "file:///a"}) {
    const Error error = parse_copy_end(text).error();
    EXPECT_EQ(error.code, Errc::kInvalid) << text;
    EXPECT_NE(error.hint.find("import"), std::string::npos);
  }
}

}  // namespace
}  // namespace runnel::cli
