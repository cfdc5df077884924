#include "env/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/length_limit.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

class FileLockTest : public ::testing::Test {
 protected:
  testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("lock");
};

TEST_F(FileLockTest, ExcludesASecondHolderAndNamesTheFirst) {
  const FileLock first = MUST(FileLock::acquire(path_));
  const Error error = FileLock::acquire(path_).error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.value, std::to_string(::getpid()));
  EXPECT_EQ(error.message, path_ + " is locked by process " + std::to_string(::getpid()));
}

TEST_F(FileLockTest, IsFreeAfterItsEndAndTheFileStays) {
  {
    const FileLock first = MUST(FileLock::acquire(path_));
  }
  EXPECT_TRUE(exists(path_));
  const FileLock second = MUST(FileLock::acquire(path_));
  EXPECT_EQ(MUST(read_file(path_)), std::to_string(::getpid()) + "\n");
}

TEST_F(FileLockTest, IsHeldOnADiskThatTakesNoName) {
  MUST(write_file_atomically(path_, "7\n"));
  const testing::LengthLimit full{Bytes()};
  const FileLock lock = MUST(FileLock::acquire(path_));
  const Error error = FileLock::acquire(path_).error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.value, "") << "not who had it before";
}

TEST_F(FileLockTest, WaitsForAnotherHolderForAWhile) {
  std::optional<FileLock> first = MUST(FileLock::acquire(path_));
  EXPECT_EQ(FileLock::acquire_within(path_, Duration::millis(5)).error().code, Errc::kConflict);
  std::thread holder([&first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first.reset();
  });
  EXPECT_TRUE(FileLock::acquire_within(path_, Duration::seconds(10)).ok());
  holder.join();
}

TEST_F(FileLockTest, MovesWithItsOwner) {
  std::optional<FileLock> kept;
  {
    FileLock lock = MUST(FileLock::acquire(path_));
    kept = std::move(lock);
  }
  EXPECT_FALSE(FileLock::acquire(path_).ok());
  kept.reset();
  EXPECT_TRUE(FileLock::acquire(path_).ok());
}

TEST_F(FileLockTest, IsFreeWhenItsHolderIsKilled) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<FileLock> lock = FileLock::acquire(path_);
    (void)!::write(ready[1], lock.ok() ? "y" : "n", 1);
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(FileLock::acquire(path_).error().value, std::to_string(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::acquire(path_).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileLockTest, AChildByForkDoesNotKeepIt) {
  std::optional<FileLock> lock = MUST(FileLock::acquire(path_));
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  EXPECT_EQ(FileLock::acquire(path_).error().code, Errc::kConflict);
  lock.reset();
  EXPECT_TRUE(FileLock::acquire(path_).ok()) << "the child lives";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(FileLockTest, AChildThatEndsItsCopyLeavesItHeld) {
  std::optional<FileLock> lock = MUST(FileLock::acquire(path_));
  const pid_t child = ::fork();
  if (child == 0) {
    lock.reset();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(FileLock::acquire(path_).error().code, Errc::kConflict);
}

TEST_F(FileLockTest, ALinkInItsPlaceLeadsToNobodysFile) {
  const std::string precious = folder_.file("precious");
  MUST(write_file_atomically(precious, "all that I have written"));
  ASSERT_EQ(::symlink(precious.c_str(), path_.c_str()), 0);
  EXPECT_FALSE(FileLock::acquire(path_).ok());
  EXPECT_EQ(MUST(read_file(precious)), "all that I have written");
}

TEST_F(FileLockTest, SaysWhyItCannotBeMade) {
  EXPECT_EQ(FileLock::acquire(folder_.file("absent/lock")).error().code, Errc::kNotFound);
}

TEST_F(FileLockTest, TheHolderIsUnknownUntilItHasSignedIn) {
  MUST(append_file(path_, ""));
  const int other = ::open(path_.c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  const Error error = FileLock::acquire(path_).error();
  EXPECT_EQ(error.message, path_ + " is locked by another process");
  EXPECT_EQ(error.value, "");
  ::close(other);
}

TEST_F(FileLockTest, AShorterPidReplacesALongerOne) {
  MUST(append_file(path_, "123456789012\nrubbish"));
  const FileLock lock = MUST(FileLock::acquire(path_));
  EXPECT_EQ(MUST(read_file(path_)), std::to_string(::getpid()) + "\n");
}

TEST_F(FileLockTest, AChildThatRunsAnotherProgramDoesNotKeepIt) {
  pid_t child = 0;
  {
    const FileLock lock = MUST(FileLock::acquire(path_));
    child = ::fork();
    if (child == 0) {
      ::execl("/bin/sleep", "sleep", "30", nullptr);
      ::_exit(127);
    }
    ASSERT_GT(child, 0);
    // The child holds a copy of the open file until it has become another program.
    while (MUST(read_file("/proc/" + std::to_string(child) + "/comm")) != "sleep\n") ::usleep(1000);
  }
  EXPECT_TRUE(FileLock::acquire(path_).ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace runnel::env
