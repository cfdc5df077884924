#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "store/sqlite/fsck.h"
#include "store/sqlite/testing/sqlite_files.h"

// What only whole processes and file systems can show: kill -9 and a full disk.
namespace {

std::atomic<bool> no_space_at_sync{false};

}  // namespace

// In place of the C library's, for SQLite too: a disk that finds out late that it is full.
extern "C" int fdatasync(int file) {
  if (!no_space_at_sync) return static_cast<int>(::syscall(SYS_fdatasync, file));
  errno = ENOSPC;
  return -1;
}

namespace runnel::store {
namespace {

class Crash : public SqliteFiles {
 protected:
  // Appends until it is killed, and tells the number of each batch that was acknowledged.
  [[noreturn]] void write_forever(int acknowledged) {
    Result<std::unique_ptr<EventLog>> log = try_open();
    if (!log.ok()) ::_exit(3);
    const Epoch epoch = (*log)->acquire_lease().value_or(Epoch());
    for (std::int64_t count = 1;; count = count % 5 + 1) {
      if (!(*log)->append(epoch, testing::next_batches(**log, epoch, count)).ok()) ::_exit(4);
      const std::int64_t last = (*log)->head().last.value();
      if (::write(acknowledged, &last, sizeof last) != sizeof last) ::_exit(5);
    }
  }

  // Runs a writer for a moment, kills it, and returns the last batch it was told of.
  std::int64_t run_and_kill(std::chrono::microseconds moment) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) write_forever(pipe[1]);
    CHECK(child > 0, "the machine starts a process; -1 would mean every process");
    ::close(pipe[1]);
    std::this_thread::sleep_for(moment);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << WEXITSTATUS(status);
    std::int64_t last = 0;
    while (::read(pipe[0], &last, sizeof last) == sizeof last) {
    }
    ::close(pipe[0]);
    return last;
  }
};

TEST_F(Crash, KillLosesNoAcknowledgedBatch) {
  std::mt19937 random(7);
  std::int64_t acknowledged = 0;
  open();
  close();
  for (int i = 0; i < 25; ++i) {
    const std::chrono::microseconds moment(2000 + random() % 60'000);
    acknowledged = std::max(acknowledged, run_and_kill(moment));
    open();
    ASSERT_GE(log_->head().last.value(), acknowledged);
    const std::vector<Batch> batches = MUST(log_->read(BatchSeq(), kReadBatchesMax));
    ASSERT_EQ(static_cast<std::int64_t>(batches.size()),
              std::min(log_->head().last.value(), kReadBatchesMax));
    close();
  }
  EXPECT_GT(acknowledged, 0);
  EXPECT_TRUE(MUST(fsck_sqlite_log(path_)).sound());
}

// A tiny file system of our own, in a namespace of our own; no root is needed where the kernel
// allows user namespaces.
bool enter_tiny_disk(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  (void)::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

enum Outcome : int {
  kPassed = 0,
  kNoDisk = 77,
  kNeverFull = 1,
  kWrongKind,
  kHalfKept,
  kStuck,
  kLost
};

// In the child, whose disk it is: fill it, see the refusal, make room, go on, open again.
int fill_the_disk(const std::string& folder, const env::Clock& clock) {
  if (!enter_tiny_disk(folder)) return kNoDisk;
  const std::string path = folder + "/log.db";
  std::unique_ptr<EventLog> log = MUST(open_sqlite_log(path, clock));
  const Epoch epoch = MUST(log->acquire_lease());
  MUST(env::write_file_atomically(folder + "/ballast", std::string(400'000, 'x')));
  Result<void> appended;
  for (int i = 0; i < 2000 && appended.ok(); ++i) {
    appended = log->append(epoch, testing::next_batches(*log, epoch, 20));
  }
  if (appended.ok()) return kNeverFull;
  if (appended.error().code != Errc::kFull) return kWrongKind;
  const Head head = log->head();
  if (head.last.value() % 20 != 0) return kHalfKept;
  MUST(env::remove_file(folder + "/ballast"));
  if (!log->append(epoch, testing::next_batches(*log, epoch, 20)).ok()) return kStuck;
  log.reset();
  log = MUST(open_sqlite_log(path, clock));
  return log->head().last.value() == head.last.value() + 20 ? kPassed : kLost;
}

TEST_F(Crash, AFullDiskRefusesWholeAppendsAndGoesOnWhenThereIsRoom) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(fill_the_disk(folder_.path(), clock_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoDisk) GTEST_SKIP() << "this machine lends no namespaces";
  EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

TEST_F(Crash, ASyncWithoutSpaceIsNoRefusal) {
  make_log(3);
  no_space_at_sync = true;
  const Result<void> appended = log_->append(epoch_, testing::next_batches(*log_, epoch_, 1));
  no_space_at_sync = false;
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, Errc::kIo) << "the batch is written, and may be found again";
  EXPECT_FALSE(log_->append(epoch_, testing::next_batches(*log_, epoch_, 1)).ok());
  close();
  open();
  EXPECT_TRUE(is_prefix(original_, MUST(log_->read(BatchSeq(), kReadBatchesMax))));
  append(1);
}

}  // namespace
}  // namespace runnel::store
