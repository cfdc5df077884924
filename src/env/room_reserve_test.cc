#include "env/room_reserve.h"

#include <sys/stat.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "env/file_system.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

constexpr Bytes kSize = Bytes::mebi(1);

std::int64_t allocated(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_blocks * 512 : -1;
}

TEST(RoomReserve, HoldsRoomUntilItIsGivenUp) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  RoomReserve reserve(path, kSize);
  EXPECT_FALSE(reserve.give_up()) << "there is none yet";
  reserve.hold();
  EXPECT_GE(allocated(path), kSize.count());
  EXPECT_TRUE(reserve.give_up());
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(reserve.give_up());
  reserve.hold();
  EXPECT_GE(allocated(path), kSize.count());
}

TEST(RoomReserve, IsOneWithThatOfAnEarlierProcess) {
  const testing::TemporaryDirectory folder;
  RoomReserve(folder.file("reserve"), kSize).hold();
  EXPECT_TRUE(RoomReserve(folder.file("reserve"), kSize).give_up());
}

TEST(RoomReserve, FillsAFileThatHasTheLengthAlone) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  MUST(write_file_atomically(path, ""));
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(kSize.count()));
  EXPECT_LT(allocated(path), kSize.count()) << "this file system has no holes";
  RoomReserve(path, kSize).hold();
  EXPECT_GE(allocated(path), kSize.count());
}

TEST(RoomReserve, LeavesToOthersWhatIsLeftOfADisk) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  const Bytes free = MUST(free_space(folder.file("")));
  RoomReserve(path, Bytes::count(free.count() / 3 * 2)).hold();
  EXPECT_FALSE(exists(path));
}

TEST(RoomReserve, TouchesNothingElse) {
  const testing::TemporaryDirectory folder;
  MUST(write_file_atomically(folder.file("other"), "mine"));
  std::filesystem::create_symlink(folder.file("other"), folder.file("reserve"));
  RoomReserve(folder.file("reserve"), kSize).hold();
  EXPECT_EQ(MUST(read_file(folder.file("other"))), "mine");
  RoomReserve(folder.file("absent/reserve"), kSize).hold();
  EXPECT_FALSE(exists(folder.file("absent")));
}

}  // namespace
}  // namespace runnel::env
