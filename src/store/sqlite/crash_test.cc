#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "env/file_system.h"
#include "env/held_blocks.h"
#include "env/remove_tree.h"
#include "store/sqlite/fsck.h"
#include "store/sqlite/testing/sqlite_files.h"

// What only whole processes and file systems can show: kill -9 and a full disk.
namespace {

std::atomic<int> sync_error{0};  // What each sync fails with, unless 0.

// What a power loss would leave of one file. A kernel that could not write a page counts it as
// written all the same.
class PowerLoss {
 public:
  void watch(const std::string& path) {
    disk_ = MUST(runnel::env::read_file(path));
    inode_ = inode(AT_FDCWD, path.c_str());
  }
  void wrote(int file, std::string_view bytes, std::size_t at) {
    if (inode_ != 0 && inode(file, "") == inode_) dirty_.emplace_back(at, bytes);
  }
  void synced(int file, bool well) {
    if (inode_ == 0 || inode(file, "") != inode_) return;
    for (const auto& [at, bytes] : std::exchange(dirty_, {})) {
      if (!well) continue;
      disk_.resize(std::max(disk_.size(), at + bytes.size()));
      disk_.replace(at, bytes.size(), bytes);
    }
  }
  std::string strike() {
    inode_ = 0;
    return disk_;
  }

 private:
  static ino_t inode(int folder, const char* path) {
    struct stat found{};
    return ::fstatat(folder, path, &found, AT_EMPTY_PATH) == 0 ? found.st_ino : 0;
  }

  std::string disk_;
  std::vector<std::pair<std::size_t, std::string>> dirty_;
  ino_t inode_ = 0;
};
PowerLoss power_loss;

int sync(int file, long call) {
  const bool well = sync_error == 0 && ::syscall(call, file) == 0;
  power_loss.synced(file, well);
  if (sync_error != 0) errno = sync_error;
  return well ? 0 : -1;
}

std::atomic<bool> index_is_full{false};  // The write-ahead log's, which has a file of its own.

bool is_index(int file) {
  std::array<char, 4'096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 &&
         std::string_view(path.data(), static_cast<std::size_t>(length)).ends_with("-shm");
}

// How many files are still renamed or removed before the process dies; less than 0: it does not.
std::atomic<int> names_until_death{-1};
constexpr int kDied = 9;

void change_a_name() {
  if (names_until_death < 0) return;
  if (names_until_death-- == 0) ::_exit(kDied);
}

}  // namespace

// In place of the C library's, for SQLite too: a disk that finds out late that it is full, or that
// fails.
extern "C" int fdatasync(int file) { return sync(file, SYS_fdatasync); }
extern "C" int fsync(int file) { return sync(file, SYS_fsync); }

extern "C" ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t at) {
  if (index_is_full && is_index(file)) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t put = ::syscall(SYS_pwrite64, file, bytes, count, at);
  if (put > 0) {
    power_loss.wrote(file, {static_cast<const char*>(bytes), static_cast<std::size_t>(put)},
                     static_cast<std::size_t>(at));
  }
  return put;
}
extern "C" ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t at) {
  return ::pwrite64(file, bytes, count, at);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  change_a_name();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" int unlink(const char* path) noexcept {
  change_a_name();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
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
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=40m") == 0;
}

enum Outcome : int {
  kPassed = 0,
  kNoDisk = 77,
  kNeverFull = 1,
  kWrongKind,
  kHalfKept,
  kNothingHeld,
  kNoReserve,
  kNotOpened,
  kStuck,
  kNotHeldAgain,
  kLost,
  kNotBack
};

// A file that takes all that the disk has but for so much.
void leave(const std::string& folder, Bytes room) {
  const Bytes free = MUST(env::free_space(folder));
  const auto size = static_cast<std::size_t>((free - room).count());
  MUST(env::write_file_atomically(folder + "/ballast", std::string(size, 'x')));
}

// Appends until the disk has no more for it.
Error append_until_full(EventLog& log, Epoch epoch, Room room) {
  for (;;) {
    Result<void> done = log.append(epoch, testing::next_batches(log, epoch, 20), {}, room);
    if (!done.ok()) return done.error();
  }
}

// Somebody else takes all that the disk has once the reserve was given up by the first append.
bool keeps_the_reserve_from_others(const std::string& folder, EventLog& log, Epoch epoch) {
  if (!log.append(epoch, testing::next_batches(log, epoch, 20), {}, Room::kReserve).ok()) {
    return false;
  }
  const Bytes free = MUST(env::free_space(folder));
  const auto size = static_cast<std::size_t>(free.count());
  MUST(env::write_file_atomically(folder + "/others", std::string(size, 'x')));
  for (int count = 0; count < 100; ++count) {
    if (!log.append(epoch, testing::next_batches(log, epoch, 20), {}, Room::kReserve).ok()) {
      return false;
    }
  }
  MUST(env::remove_file(folder + "/others"));
  return true;
}

// A log whose process was killed on a full disk opens there again, without the reserve.
bool comes_back(const std::string& folder, const std::string& path, const env::Clock& clock) {
  MUST(env::remove_file(folder + "/ballast"));
  const pid_t child = ::fork();
  if (child == 0) {
    const std::unique_ptr<EventLog> log = MUST(open_sqlite_log(path, clock));
    const Epoch epoch = MUST(log->acquire_lease());
    MUST(log->append(epoch, testing::next_batches(*log, epoch, 20)));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  MUST(env::remove_file(path + "-reserve"));
  leave(folder, Bytes());
  const Bytes index = MUST(env::allocated(path + "-shm"));
  const Result<std::unique_ptr<EventLog>> log = open_sqlite_log(path, clock);
  if (!log.ok() || MUST(env::allocated(path + "-shm")) < index) return false;
  const Result<Epoch> epoch = (*log)->acquire_lease();
  return epoch.ok() &&
         (*log)->append(*epoch, testing::next_batches(**log, *epoch, 20), {}, Room::kHeld).ok();
}

// In the child, whose disk it is: fill it, see who is refused when, make room, go on, open again.
int fill_the_disk(const std::string& folder, const env::Clock& clock) {
  if (!enter_tiny_disk(folder)) return kNoDisk;
  const std::string path = folder + "/log.db";
  std::unique_ptr<EventLog> log = MUST(open_sqlite_log(path, clock));
  Epoch epoch = MUST(log->acquire_lease());
  MUST(log->append(epoch, testing::next_batches(*log, epoch, 20)));
  leave(folder, Bytes::kibi(1'100));
  if (append_until_full(*log, epoch, Room::kOrdinary).code != Errc::kFull) return kWrongKind;
  if (log->head().last.value() % 20 != 0) return kHalfKept;
  MUST(env::remove_file(folder + "/ballast"));
  leave(folder, Bytes());
  const Head ordinary = log->head();
  if (append_until_full(*log, epoch, Room::kHeld).code != Errc::kFull) return kWrongKind;
  const Head held = log->head();
  if (held.last.value() < ordinary.last.value() + 20 * 20) return kNothingHeld;
  if (!env::exists(path + "-reserve")) return kNoReserve;
  if (!keeps_the_reserve_from_others(folder, *log, epoch)) return kNoReserve;
  if (append_until_full(*log, epoch, Room::kReserve).code != Errc::kFull) return kWrongKind;
  if (log->head().last.value() < held.last.value() + 20 * 20) return kNoReserve;
  MUST(env::remove_file(folder + "/ballast"));
  if (!log->append(epoch, testing::next_batches(*log, epoch, 20)).ok()) return kStuck;
  if (!env::exists(path + "-reserve")) return kNotHeldAgain;
  const Head head = log->head();
  log.reset();
  leave(folder, Bytes());
  Result<std::unique_ptr<EventLog>> again = open_sqlite_log(path, clock);
  if (!again.ok()) return kNotOpened;
  epoch = MUST((*again)->acquire_lease());
  if ((*again)->head().last != head.last) return kLost;
  if (!(*again)->append(epoch, testing::next_batches(**again, epoch, 20), {}, Room::kHeld).ok()) {
    return kStuck;
  }
  again->reset();
  return comes_back(folder, path, clock) ? kPassed : kNotBack;
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

// By then the commit is written and synced: nobody may say that nothing was kept.
TEST_F(Crash, ADiskThatIsFullForTheIndexAloneLeavesTheOutcomeOpen) {
  open();
  epoch_ = MUST(log_->acquire_lease());
  Result<void> appended;
  const std::function<Result<void>(LogReader&)> append_until_it_fails =
      [&](LogReader& reader) -> Result<void> {
    (void)reader.kept();  // While somebody reads, the write-ahead log grows, and its index.
    const ArchiveChange large{{{"key", std::string(4 << 20, 'x')}}, {}};
    for (int count = 0; count < 10 && appended.ok(); ++count) {
      index_is_full = count > 0;
      appended = log_->append(epoch_, testing::next_batches(*log_, epoch_, 1), large);
    }
    return {};
  };
  MUST(MUST(log_->connect())->read(append_until_it_fails));
  index_is_full = false;
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, Errc::kIo) << appended.error().to_string();
  const BatchSeq told = log_->head().last;
  EXPECT_FALSE(log_->append(epoch_, testing::next_batches(*log_, epoch_, 1)).ok());
  // What a kill would leave now has it.
  const std::string killed = folder_.file("killed.db");
  for (const char* suffix : {"", "-wal"}) {
    MUST(env::write_file_atomically(killed + suffix, MUST(env::read_file(path_ + suffix))));
  }
  EXPECT_EQ(MUST(open_sqlite_log(killed, clock_))->head().last.value(), told.value() + 1);
}

class RepairCrash : public Crash {
 protected:
  // Whether a repair came to its end that dies before the name after so many.
  bool repairs_within(int names) {
    const pid_t child = ::fork();
    if (child == 0) {
      names_until_death = names;
      ::_exit(repair_sqlite_log(path_, clock_).ok() ? 0 : 1);
    }
    CHECK(child > 0, "the machine starts a process; -1 would mean every process");
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kDied) << WEXITSTATUS(status);
    return WEXITSTATUS(status) == 0;
  }

  // A folder of files, to begin again from.
  std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const std::string& name : MUST(env::list_directory(folder_.path()))) {
      if (name.starts_with("damaged-")) continue;
      all.emplace_back(folder_.file(name), MUST(env::read_file(folder_.file(name))));
    }
    return all;
  }
  void put_back(const std::vector<std::pair<std::string, std::string>>& all) {
    for (const std::string& name : MUST(env::list_directory(folder_.path()))) {
      MUST(env::remove_tree(folder_.file(name)));
    }
    for (const auto& [path, text] : all) MUST(env::write_file_atomically(path, text));
  }

  // A log that serves what a repair left serves all; else a repair leads to that.
  void expect_nothing_lost() {
    const Result<std::unique_ptr<EventLog>> early = try_open();
    if (early.ok()) {
      EXPECT_EQ(MUST((*early)->read(BatchSeq(), kReadBatchesMax)), original_);
      return;
    }
    EXPECT_EQ(early.error().code, Errc::kCorrupt) << early.error().to_string();
    MUST(repair_sqlite_log(path_, clock_));
    open();
    EXPECT_EQ(MUST(log_->read(BatchSeq(), kReadBatchesMax)), original_);
    close();
  }
  // Kills a repair of these files before each name that it changes; returns how many there are.
  int kill_at_each_name(const std::vector<std::pair<std::string, std::string>>& all) {
    for (int names = 0;; ++names) {
      SCOPED_TRACE("killed after " + std::to_string(names) + " names");
      put_back(all);
      if (repairs_within(names)) return names;
      if (env::exists(path_ + "-wal.aside") && half_.empty()) half_ = files();
      expect_nothing_lost();
    }
  }

  std::vector<std::pair<std::string, std::string>> half_;  // With the old log set aside.
};

TEST_F(RepairCrash, KilledAtAnyNameLosesNoBatch) {
  make_log(12);
  crash();
  EXPECT_GT(kill_at_each_name(files()), 8);
  ASSERT_FALSE(half_.empty());
  const auto half = half_;
  put_back(half);
  EXPECT_EQ(try_open().error().code, Errc::kCorrupt);
  EXPECT_GT(kill_at_each_name(half), 8) << "the repair of what an interrupted one left";
}

TEST_F(Crash, ASyncWithoutSpaceIsNoRefusal) {
  make_log(3);
  sync_error = ENOSPC;
  const Result<void> appended = log_->append(epoch_, testing::next_batches(*log_, epoch_, 1));
  sync_error = 0;
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, Errc::kIo) << "the batch is written, and may be found again";
  EXPECT_FALSE(log_->append(epoch_, testing::next_batches(*log_, epoch_, 1)).ok());
  close();
  open();
  EXPECT_TRUE(is_prefix(original_, MUST(log_->read(BatchSeq(), kReadBatchesMax))));
  append(1);
}

TEST_F(Crash, WhatASyncFailedToWriteDoesNotCountAsDurable) {
  open();
  append(3);
  power_loss.watch(path_ + "-wal");
  sync_error = EIO;
  EXPECT_FALSE(log_->append(epoch_, testing::next_batches(*log_, epoch_, 1)).ok());
  close();
  EXPECT_FALSE(try_open().ok()) << "the disk still fails";
  sync_error = 0;
  open();
  const Head told = log_->head();
  const std::string left = power_loss.strike();
  const env::testing::TemporaryDirectory after;
  MUST(env::copy_file(path_, after.file("log.db")));
  std::ofstream(after.file("log.db-wal"), std::ios::binary) << left;
  const auto log = MUST(open_sqlite_log(after.file("log.db"), clock_));
  EXPECT_EQ(log->head().last, told.last);
  EXPECT_EQ(log->head().hash, told.hash);
}

}  // namespace
}  // namespace runnel::store
