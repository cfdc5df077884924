#include "env/room_reserve.h"

#include <sys/resource.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "env/file_system.h"
#include "env/files.h"
#include "env/held_blocks.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

constexpr Bytes kSize = Bytes::mebi(1);

TEST(RoomReserve, HoldsRoomUntilItIsGivenUp) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  RoomReserve reserve(path, kSize);
  EXPECT_FALSE(reserve.give_up()) << "there is none yet";
  reserve.hold();
  EXPECT_GE(MUST(allocated(path)), kSize);
  EXPECT_TRUE(reserve.give_up());
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(reserve.give_up());
  reserve.hold();
  EXPECT_GE(MUST(allocated(path)), kSize);
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
  EXPECT_LT(MUST(allocated(path)), kSize) << "this file system has no holes";
  RoomReserve(path, kSize).hold();
  EXPECT_GE(MUST(allocated(path)), kSize);
}

TEST(RoomReserve, LeavesToOthersWhatIsLeftOfADisk) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("reserve");
  const Bytes free = MUST(free_space(folder.file("")));
  RoomReserve(path, Bytes::count(free.count() / 3 * 2)).hold();
  EXPECT_FALSE(exists(path));
}

TEST(RoomReserve, LeavesAFileOfSomebodyElseAlone) {
  const testing::TemporaryDirectory folder;
  const RoomReserve reserve(folder.file("reserve"), kSize);
  for (const std::string& text : {std::string("mine"), std::string(2 << 20, 'x')}) {
    MUST(write_file_atomically(folder.file("reserve"), text));
    reserve.hold();
    EXPECT_FALSE(reserve.give_up());
    EXPECT_EQ(MUST(read_file(folder.file("reserve"))), text);
  }
  MUST(remove_file(folder.file("reserve")));
  MUST(write_file_atomically(folder.file("other"), std::string(1 << 20, 'x')));
  std::filesystem::create_hard_link(folder.file("other"), folder.file("reserve"));
  reserve.hold();
  EXPECT_FALSE(reserve.give_up());
}

TEST(RoomReserve, BeginsAnewWhereOneWasKilledWhileItWasMade) {
  const testing::TemporaryDirectory folder;
  MUST(write_file_atomically(folder.file("reserve.part"), "half"));
  RoomReserve(folder.file("reserve"), kSize).hold();
  EXPECT_GE(MUST(allocated(folder.file("reserve"))), kSize);
  EXPECT_FALSE(exists(folder.file("reserve.part")));
}

TEST(RoomReserve, RespectsALimitOnTheLengthOfFiles) {
  const testing::TemporaryDirectory folder;
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little{1 << 19, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  RoomReserve(folder.file("reserve"), kSize).hold();  // Else SIGXFSZ ends this process.
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(MUST(list_directory(folder.path())).empty());
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
