#include "env/lock_holder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace runnel::env {
namespace {

constexpr std::string_view kTable =
    "1: POSIX  ADVISORY  WRITE 11 fe:1a:20 0 EOF\n"
    "2: FLOCK  ADVISORY  WRITE 12 fe:1a:200 0 EOF\n"
    "3: FLOCK  ADVISORY  WRITE 13 fe:1a:20 0 EOF\n"
    "3: -> FLOCK  ADVISORY  WRITE 14 fe:1a:20 0 EOF\n"
    "4: FLOCK  ADVISORY  READ  15 103:00:20 0 EOF\n"
    "5: FLOCK  ADVISORY  WRITE -1 fe:1a:30 0 EOF\n"
    "6: -> FLOCK  ADVISORY  WRITE 16 fe:1a:40 0 EOF\n"
    "7: FLOCK";

TEST(LockHolders, AreFoundByDeviceAndInode) {
  EXPECT_EQ(lock_holder_in(kTable, makedev(0xfe, 0x1a), 20), 13);
  EXPECT_EQ(lock_holder_in(kTable, makedev(0xfe, 0x1a), 200), 12);
  EXPECT_EQ(lock_holder_in(kTable, makedev(0x103, 0), 20), 15);
}

TEST(LockHolders, AreNobodyWhereNobodyIsNamed) {
  EXPECT_EQ(lock_holder_in(kTable, makedev(0xfe, 0x1b), 20), 0);
  EXPECT_EQ(lock_holder_in(kTable, makedev(0xfe, 0x1a), 30), 0);  // In another pid namespace.
  EXPECT_EQ(lock_holder_in(kTable, makedev(0xfe, 0x1a), 40), 0);  // Waits only.
  EXPECT_EQ(lock_holder_in("", makedev(0xfe, 0x1a), 20), 0);
}

TEST(LockHolders, OfATableThatWasCutAnywhereAreRightOrNobody) {
  for (std::size_t size = 0; size <= kTable.size(); ++size) {
    const std::int64_t told = lock_holder_in(kTable.substr(0, size), makedev(0xfe, 0x1a), 20);
    EXPECT_TRUE(told == 0 || told == 13) << size << ": " << told;
  }
}

TEST(LockHolders, AreToldOfWhateverIsRead) {
  for (const char* text : {"\n\n", " ", "a b c\n", "1: FLOCK ADVISORY WRITE x fe:1a:20\n",
                           "1: FLOCK ADVISORY WRITE 99999999999999999999 fe:1a:20\n"}) {
    EXPECT_EQ(lock_holder_in(text, makedev(0xfe, 0x1a), 20), 0) << text;
  }
}

TEST(LockHolders, OfAFolderAreToldByTheKernel) {
  std::string folder = ::testing::TempDir() + "runnel_lock.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(lock_holder({folder}), 0);
  ASSERT_EQ(::flock(file, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(lock_holder({folder}), ::getpid());
  ::close(file);
  EXPECT_EQ(lock_holder({folder}), 0);
  ::rmdir(folder.c_str());
  EXPECT_EQ(lock_holder({folder}), 0);
}

TEST(LockHolders, AreThereWhileAFileOrFolderIsLockedAlone) {
  std::string folder = ::testing::TempDir() + "runnel_lock.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  EXPECT_FALSE(is_locked(folder));
  EXPECT_FALSE(is_locked(folder + "/nothing"));
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(file, LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(is_locked(folder));
  ASSERT_EQ(::flock(file, LOCK_UN), 0);
  EXPECT_FALSE(is_locked(folder));
  EXPECT_EQ(::flock(file, LOCK_EX | LOCK_NB), 0);  // Asking has kept nothing.
  ::close(file);
  ::mkfifo((folder + "/fifo").c_str(), 0600);
  EXPECT_FALSE(is_locked(folder + "/fifo"));  // Waits for nobody who writes to it.
  ::unlink((folder + "/fifo").c_str());
  ::rmdir(folder.c_str());
}

TEST(LockHolders, AreNotThoseWhoShareAFileWithThem) {
  std::string path = ::testing::TempDir() + "runnel_lock.XXXXXX";
  const int holds = ::mkstemp(path.data());
  const int asks = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(holds, LOCK_SH | LOCK_NB), 0);
  EXPECT_EQ(::flock(asks, LOCK_EX | LOCK_NB), -1);
  EXPECT_EQ(lock_holder({path}), ::getpid());
  ASSERT_EQ(::flock(holds, LOCK_UN), 0);
  EXPECT_EQ(lock_holder({path}), 0);
  EXPECT_EQ(::flock(asks, LOCK_EX | LOCK_NB), 0);  // Asking has taken nothing.
  EXPECT_EQ(lock_holder({path}), ::getpid());
  ::close(asks);
  ::close(holds);
  EXPECT_EQ(lock_holder({path}), 0);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace runnel::env
