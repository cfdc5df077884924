#include "env/inode_reserve.h"

#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

std::size_t entries_of(const std::string& folder) { return MUST(list_directory(folder)).size(); }

TEST(InodeReserve, HoldsFilesUntilItIsGivenUp) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  const InodeReserve reserve(path, 5);
  EXPECT_FALSE(reserve.give_up()) << "there is none yet";
  reserve.hold();
  reserve.hold();
  EXPECT_EQ(entries_of(path), 5U);
  EXPECT_TRUE(reserve.give_up());
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(reserve.give_up());
}

TEST(InodeReserve, MakesWhatAnEarlierProcessDidNot) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  InodeReserve(path, 2).hold();
  InodeReserve(path, 5).hold();
  EXPECT_EQ(entries_of(path), 5U);
}

TEST(InodeReserve, LeavesToOthersWhatIsLeft) {
  const testing::TemporaryDirectory folder;
  InodeReserve(folder.file("reserve"), std::numeric_limits<int>::max()).hold();
  EXPECT_FALSE(exists(folder.file("reserve")));
}

TEST(InodeReserve, LeavesWhatIsSomebodyElsesAlone) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  const InodeReserve reserve(path, 3);
  reserve.hold();
  MUST(write_file_atomically(path + "/1", "mine"));
  MUST(write_file_atomically(path + "/mine", ""));
  EXPECT_TRUE(reserve.give_up());
  EXPECT_EQ(entries_of(path), 2U);
}

TEST(InodeReserve, FollowsNoLink) {
  const testing::TemporaryDirectory folder;
  const std::string aim = folder.file("aim");
  MUST(make_directories(aim, Access::kOwner));
  MUST(write_file_atomically(aim + "/0", ""));
  std::filesystem::create_directory_symlink(aim, folder.file("reserve"));
  const InodeReserve reserve(folder.file("reserve"), 3);
  reserve.hold();
  EXPECT_FALSE(reserve.give_up());
  EXPECT_EQ(entries_of(aim), 1U);
}

}  // namespace
}  // namespace runnel::env
