#include "cli/volume_target.h"

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
  EXPECT_EQ(MUST(parse_volume_target("data://a")).path, "a");
}

TEST(VolumeTarget, RefusesWhatCannotBeMeant) {
  for (const char* text : {"", ":/a", "data:a", "data@", "@v", "Data", "data@:/a"}) {
    EXPECT_EQ(parse_volume_target(text).error().code, Errc::kInvalid) << text;
  }
}

}  // namespace
}  // namespace runnel::cli
