#include "fuse/mount_point.h"

#include <gtest/gtest.h>

namespace runnel::fuse {
namespace {

TEST(Mounts, AreThoseOfOurTypeInTheirOrder) {
  const std::vector<Mounted> mounts = mounts_in(
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "90 22 0:45 / /data/a\\040b ro,nosuid shared:7 master:2 - fuse.runnel runnel:one@12ab ro\n"
      "91 22 0:46 / /data/other rw - fuse.sshfs host: rw\n"
      "92 22 0:47 / /data/a\\040b ro - fuse.runnel runnel:two@34cd ro\n"
      "93 22 0:48 /\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].id, "90");
  EXPECT_EQ(mounts[0].folder, "/data/a b");
  EXPECT_EQ(mounts[0].source, "runnel:one@12ab");
  EXPECT_EQ(mounts[1].source, "runnel:two@34cd");
  EXPECT_TRUE(mounts_in("").empty());
}

TEST(Mounts, AFolderThatIsNoMountIsNotUnmounted) {
  EXPECT_FALSE(unmount_folder("/nowhere", Unmount::kUnused).ok());
}

}  // namespace
}  // namespace runnel::fuse
