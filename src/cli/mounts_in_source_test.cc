#include "cli/mounts_in_source.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

const fuse::Mounted kMounted{"1", "/home/me/data/mnt", "runnel:data@9f1c"};

std::size_t warnings(const std::string& source) {
  return warnings_of_mounts(source, {kMounted}).size();
}

TEST(MountsInSource, AreAWarningWhereTheSourceIsOrHoldsOne) {
  EXPECT_EQ(warnings("/home/me/data/mnt"), 1U);
  EXPECT_EQ(warnings("/home/me/data/mnt/train"), 1U);
  EXPECT_EQ(warnings("/home/me/data"), 1U);
  EXPECT_EQ(warnings("/"), 1U);
  const std::string text = warnings_of_mounts("/home/me", {kMounted}).at(0);
  EXPECT_NE(text.find("/home/me/data/mnt is a mount of a volume (runnel:data@9f1c)"),
            std::string::npos);
}

TEST(MountsInSource, AreNoWarningBesideIt) {
  EXPECT_EQ(warnings("/home/me/data/mnt2"), 0U);
  EXPECT_EQ(warnings("/home/me/dat"), 0U);
  EXPECT_EQ(warnings("/home/me/data/mn"), 0U);
}

TEST(MountsInSource, ManyAreCounted) {
  const std::vector<fuse::Mounted> mounts(kMountsTold + 3, kMounted);
  const std::vector<std::string> all = warnings_of_mounts("/home", mounts);
  ASSERT_EQ(all.size(), kMountsTold + 1);
  EXPECT_EQ(all.back(), "runnel: warning: and 3 more mounts of volumes");
}

}  // namespace
}  // namespace runnel::cli
