#include "cli/volume_client.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(VolumeClient, CountsInWords) {
  EXPECT_EQ(count_text(0, "file", "files"), "0 files");
  EXPECT_EQ(count_text(1, "file", "files"), "1 file");
  EXPECT_EQ(count_text(2, "entry", "entries"), "2 entries");
}

TEST(VolumeClient, NamesTheTagsOfAVersion) {
  volume::Head head;
  head.tags["b"] = {"v1", "v/1", 1};
  head.tags["a"] = {"v1", "v/1", 2};
  head.tags["c"] = {"v2", "v/2", 3};
  EXPECT_EQ(joined(tags_of(head, "v1")), "a, b");
  EXPECT_EQ(joined(tags_of(head, "v2")), "c");
  EXPECT_EQ(joined(tags_of(head, "v3")), "");
}

}  // namespace
}  // namespace runnel::cli
