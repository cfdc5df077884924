#include "store/sqlite/fsck.h"

#include <random>

#include <gtest/gtest.h>

#include "store/sqlite/testing/sqlite_files.h"

namespace runnel::store {
namespace {

class FsckTest : public SqliteFiles {
 protected:
  FsckReport fsck() { return MUST(fsck_sqlite_log(path_)); }
  RepairReport repair() { return MUST(repair_sqlite_log(path_, clock_)); }

  // All that a report says was dropped, as one text.
  static std::string dropped(const RepairReport& report) {
    std::string text;
    for (const std::string& line : report.dropped) text += line + "\n";
    return text;
  }

  std::vector<Batch> batches_after(std::int64_t seq) {
    return MUST(log_->read(BatchSeq(seq), kReadBatchesMax));
  }

  static std::string job_of(const Batch& batch) {
    return "job-" + std::to_string(1000 + batch.seq.value());
  }

  // `damaged`: the bytes of a database as it is on the disk.
  void repair_to_a_sound_prefix(const std::string& damaged) {
    MUST(env::write_file_atomically(path_, damaged));
    clock_.advance(Duration::seconds(1));
    const Result<RepairReport> report = repair_sqlite_log(path_, clock_);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    ASSERT_TRUE(fsck().sound());
    open();
    ASSERT_TRUE(is_prefix(batches_after(0), original_));
    close();
  }

  static constexpr std::size_t kFormatAt = 60;  // In the header of a SQLite file.
};

TEST_F(FsckTest, ASoundLogHasNoProblems) {
  make_log(7);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(3), "s"}));
  close();
  const FsckReport report = fsck();
  EXPECT_TRUE(report.sound());
  EXPECT_EQ(report.first, BatchSeq(1));
  EXPECT_EQ(report.last, BatchSeq(7));
  EXPECT_EQ(report.archive_entries, 7);
  EXPECT_EQ(report.snapshots, 1);
}

TEST_F(FsckTest, NamesAllThatIsWrong) {
  make_log(9);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(3), "s"}));
  close();
  tamper("UPDATE batch SET input = '{}' WHERE seq IN (4, 7)");
  tamper("UPDATE archive SET sort_key = 'x' WHERE key = 'job-1002'");
  tamper("UPDATE snapshot SET text = 'x'");
  const FsckReport report = fsck();
  ASSERT_EQ(report.problems.size(), 4U);
  EXPECT_NE(report.problems[0].find("batch 4"), std::string::npos);
  EXPECT_NE(report.problems[1].find("batch 7"), std::string::npos);
  EXPECT_NE(report.problems[2].find("snapshot of batch 3"), std::string::npos);
  EXPECT_NE(report.problems[3].find("job-1002"), std::string::npos);
  EXPECT_EQ(report.last, BatchSeq(3));
}

TEST_F(FsckTest, ReportsABoundedNumberOfProblems) {
  make_log(300);
  close();
  tamper("UPDATE batch SET now = now + 1");
  EXPECT_EQ(fsck().problems.size(), kFsckProblemsMax);
}

TEST_F(FsckTest, ChangesNothing) {
  make_log(5);
  crash();
  const std::string db = MUST(env::read_file(path_));
  const std::string wal = MUST(env::read_file(path_ + "-wal"));
  MUST(env::append_file(path_ + "-wal", wal.substr(32, 2000)));  // An unfinished write.
  const FsckReport report = fsck();
  EXPECT_TRUE(report.sound());
  EXPECT_EQ(report.notices.size(), 1U);
  EXPECT_EQ(report.last, BatchSeq(5));
  EXPECT_EQ(MUST(env::read_file(path_)), db);
  EXPECT_EQ(MUST(env::read_file(path_ + "-wal")).size(), wal.size() + 2000);
}

TEST_F(FsckTest, FindsWhatIsLaidOverTheStartOfThePages) {
  make_log(100);
  close();
  std::string db = MUST(env::read_file(path_));
  db.replace(2 * 4096, 4096, std::string(4096, '\xAA'));
  MUST(env::write_file_atomically(path_, db));
  EXPECT_FALSE(fsck().sound());
  MUST(env::write_file_atomically(path_, "nonsense"));
  EXPECT_EQ(fsck().problems.size(), 1U);
}

TEST_F(FsckTest, NeedsAFileOfAKnownFormat) {
  EXPECT_EQ(fsck_sqlite_log(path_).error().code, Errc::kNotFound);
  make_log(1);
  close();
  tamper("PRAGMA user_version = 9");
  EXPECT_EQ(fsck_sqlite_log(path_).error().code, Errc::kUnsupported);
  const std::string db = MUST(env::read_file(path_));
  EXPECT_EQ(repair_sqlite_log(path_, clock_).error().code, Errc::kUnsupported);
  EXPECT_EQ(MUST(env::read_file(path_)), db);
}

TEST_F(FsckTest, RepairKeepsTheBatchesBeforeTheFirstBadOne) {
  make_log(9);
  close();
  tamper("UPDATE batch SET input = '{}' WHERE seq = 6");
  const RepairReport report = repair();
  EXPECT_EQ(report.first, BatchSeq(1));
  EXPECT_EQ(report.last, BatchSeq(5));
  EXPECT_NE(dropped(report).find("All batches from 6 on: batch 6 of the event log is damaged"),
            std::string::npos);
  EXPECT_NE(dropped(report).find("'job-1006'"), std::string::npos);
  EXPECT_TRUE(env::exists(report.copy + "/log.db"));
  EXPECT_TRUE(fsck().sound());
  open();
  EXPECT_EQ(batches_after(0), std::vector<Batch>(original_.begin(), original_.begin() + 5));
  EXPECT_TRUE(log_->archived("job-1005").ok());
  EXPECT_FALSE(log_->archived("job-1006").ok());
  EXPECT_GT(MUST(log_->acquire_lease()), epoch_);
}

TEST_F(FsckTest, RepairPrefersASoundStateToAWholeHistory) {
  make_log(12);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(4), "four"}));
  MUST(log_->save_snapshot(epoch_, {BatchSeq(8), "eight"}));
  close();
  tamper("UPDATE batch SET input = '{}' WHERE seq = 6");
  const RepairReport report = repair();
  EXPECT_EQ(report.first, BatchSeq(9));
  EXPECT_EQ(report.last, BatchSeq(12));
  EXPECT_NE(dropped(report).find("The history of batches 1 to 8"), std::string::npos);
  EXPECT_NE(dropped(report).find("The snapshot of batch 4"), std::string::npos);
  EXPECT_TRUE(fsck().sound());
  open();
  EXPECT_EQ(MUST(log_->load_snapshot()), (Snapshot{BatchSeq(8), "eight"}));
  EXPECT_EQ(batches_after(8), std::vector<Batch>(original_.begin() + 8, original_.end()));
  EXPECT_EQ(log_->read(BatchSeq(3), 1).error().code, Errc::kGone);
  EXPECT_TRUE(log_->archived("job-1012").ok());
  append(1);
}

TEST_F(FsckTest, RepairOfAFileBeyondReadingStartsAnewWithAHigherEpoch) {
  make_log(5);
  close();
  MUST(env::write_file_atomically(path_, "nothing of it is left"));
  const RepairReport report = repair();
  EXPECT_EQ(report.last, BatchSeq());
  EXPECT_NE(dropped(report).find("Everything"), std::string::npos);
  open();
  EXPECT_EQ(log_->head().last, BatchSeq());
  EXPECT_GT(MUST(log_->acquire_lease()), Epoch(1'000'000'000));
  append(1);
}

TEST_F(FsckTest, RepairOfADamagedWriteAheadLogKeepsWhatIsBehindTheDamageToo) {
  make_log(10);
  crash();
  std::string wal = MUST(env::read_file(path_ + "-wal"));
  wal[wal.size() / 2] = static_cast<char>(wal[wal.size() / 2] ^ 1);
  MUST(env::write_file_atomically(path_ + "-wal", wal));
  EXPECT_FALSE(fsck().sound());
  EXPECT_EQ(try_open().error().code, Errc::kCorrupt);
  const RepairReport report = repair();
  EXPECT_NE(dropped(report).find("write-ahead log"), std::string::npos) << dropped(report);
  EXPECT_TRUE(env::exists(report.copy + "/log.db-wal"));
  open();
  EXPECT_EQ(batches_after(0), original_);
  for (const Batch& batch : original_) EXPECT_TRUE(log_->archived(job_of(batch)).ok());
}

TEST_F(FsckTest, RepairReadsThePagesOfADatabaseWithoutItsFirst) {
  make_log(60);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(40), std::string(9000, 's')}));
  close();
  std::string db = MUST(env::read_file(path_));
  db.replace(0, 4096, std::string(4096, '\xAA'));
  MUST(env::write_file_atomically(path_, db));
  const RepairReport report = repair();
  EXPECT_EQ(report.last, BatchSeq(60)) << dropped(report);
  EXPECT_NE(dropped(report).find("batches 1 to 60"), std::string::npos) << dropped(report);
  EXPECT_TRUE(fsck().sound());
  open();
  EXPECT_EQ(batches_after(0), original_);
  EXPECT_EQ(MUST(log_->load_snapshot()), (Snapshot{BatchSeq(40), std::string(9000, 's')}));
  for (const Batch& batch : original_) EXPECT_TRUE(log_->archived(job_of(batch)).ok());
}

TEST_F(FsckTest, RepairReadsThePagesThatBytesPutInBeforeThemHaveShifted) {
  make_log(60);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(40), std::string(9000, 's')}));
  close();
  const std::string db = MUST(env::read_file(path_));
  for (const std::size_t size : {std::size_t{1}, std::size_t{700}, std::size_t{5000}}) {
    MUST(env::write_file_atomically(path_, std::string(db).insert(110, size, '\xAA')));
    const RepairReport report = repair();
    EXPECT_EQ(report.last, BatchSeq(60)) << dropped(report);
    EXPECT_NE(dropped(report).find("the archive"), std::string::npos) << dropped(report);
    EXPECT_TRUE(fsck().sound());
    open();
    EXPECT_EQ(batches_after(0), original_);
    EXPECT_EQ(log_->head().last, BatchSeq(60));
    for (const Batch& batch : original_) EXPECT_TRUE(log_->archived(job_of(batch)).ok());
    EXPECT_EQ(MUST(log_->load_snapshot()), (Snapshot{BatchSeq(40), std::string(9000, 's')}));
    close();
  }
}

TEST_F(FsckTest, RepairReadsTheWriteAheadLogOfADatabaseThatIsGone) {
  make_log(20);
  crash();
  MUST(env::remove_file(path_));
  const RepairReport report = repair();
  EXPECT_EQ(report.last, BatchSeq(20)) << dropped(report);
  EXPECT_NE(dropped(report).find("is gone"), std::string::npos) << dropped(report);
  open();
  EXPECT_EQ(batches_after(0), original_);
  for (const Batch& batch : original_) EXPECT_TRUE(log_->archived(job_of(batch)).ok());
}

TEST_F(FsckTest, RepairOfACutWriteAheadLogSaysWhatThePagesDoNotHave) {
  make_log(20);
  crash();
  const std::string wal = MUST(env::read_file(path_ + "-wal"));
  MUST(env::write_file_atomically(path_ + "-wal", wal.substr(0, wal.size() / 2)));
  const RepairReport report = repair();
  EXPECT_LT(report.last, BatchSeq(20));
  EXPECT_GT(report.last, BatchSeq(5));
  EXPECT_NE(dropped(report).find("to 20"), std::string::npos) << dropped(report);
  EXPECT_TRUE(fsck().sound());
  open();
  EXPECT_TRUE(is_prefix(batches_after(0), original_));
}

TEST_F(FsckTest, RepairKeepsTheRecordsBehindAPageOfTheArchiveThatIsGone) {
  make_log(300);
  close();
  const std::string db = MUST(env::read_file(path_));
  const std::size_t record = db.find("record of 1150");
  ASSERT_NE(record, std::string::npos);
  MUST(env::write_file_atomically(
      path_, std::string(db).replace(record / 4096 * 4096, 4096, std::string(4096, '\xAA'))));
  const RepairReport report = repair();
  EXPECT_EQ(report.last, BatchSeq(300)) << dropped(report);
  EXPECT_NE(dropped(report).find("the archive"), std::string::npos) << dropped(report);
  EXPECT_TRUE(fsck().sound());
  open();
  EXPECT_FALSE(log_->archived("job-1150").ok());
  std::size_t kept = 0;
  for (const Batch& batch : original_) kept += log_->archived(job_of(batch)).ok() ? 1 : 0;
  EXPECT_GT(kept, 200U);
}

TEST_F(FsckTest, RepairOfAPrunedLogWhoseHeaderIsGoneBeginsWhereItBegan) {
  make_log(30);
  for (const std::int64_t through : {10, 20}) {
    MUST(log_->save_snapshot(epoch_, {BatchSeq(through), "state"}));
  }
  MUST(log_->prune(epoch_, BatchSeq(10)));
  close();
  std::string db = MUST(env::read_file(path_));
  MUST(env::write_file_atomically(path_, db.replace(0, 100, std::string(100, '\xAA'))));
  const RepairReport report = repair();
  EXPECT_EQ(report.first, BatchSeq(11)) << dropped(report);
  EXPECT_EQ(report.last, BatchSeq(30));
  EXPECT_TRUE(fsck().sound());
  open();
  EXPECT_EQ(batches_after(10), std::vector<Batch>(original_.begin() + 10, original_.end()));
  EXPECT_GT(MUST(log_->acquire_lease()), Epoch(1'000'000'000)) << "its row may be an old one";
  append(1);
}

TEST_F(FsckTest, RepairOfAnyWriteAheadLogLeadsToASoundPrefix) {
  make_log(30);
  crash();
  const std::string db = MUST(env::read_file(path_));
  const std::string wal = MUST(env::read_file(path_ + "-wal"));
  for (std::size_t at = 0; at < wal.size(); at += 20'011) {
    SCOPED_TRACE(at);
    MUST(env::write_file_atomically(path_ + "-wal", std::string(wal).insert(at, 99, 'x')));
    repair_to_a_sound_prefix(db);
    MUST(env::write_file_atomically(path_ + "-wal", std::string(wal).erase(at, 5000)));
    repair_to_a_sound_prefix(db);
    MUST(env::write_file_atomically(path_ + "-wal", wal.substr(0, at)));
    repair_to_a_sound_prefix(db);
  }
}

TEST_F(FsckTest, RepairGoesOnWhereOneWasInterrupted) {
  make_log(5);
  crash();
  const std::string staged = path_ + ".repaired";
  MUST(env::write_file_atomically(staged, MUST(env::read_file(path_))));
  MUST(env::write_file_atomically(staged + "-wal", MUST(env::read_file(path_ + "-wal"))));
  MUST(env::write_file_atomically(staged + "-shm", std::string(32'768, 'x')));
  for (int time = 0; time < 2; ++time) {
    const auto report = repair_sqlite_log(path_, clock_);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_TRUE(report->dropped.empty()) << dropped(*report);
  }
  EXPECT_FALSE(env::exists(staged + "-wal"));
  open();
  EXPECT_EQ(batches_after(0), original_);
}

// What a repair leaves that was killed after it set the write-ahead log aside.
class HalfReplaced : public FsckTest {
 protected:
  const std::string wal_ = path_ + "-wal";
  const std::string aside_ = path_ + "-wal.aside";
  const std::string staged_ = path_ + ".repaired";

  void leave_half_replaced() {
    make_log(20);
    crash();
    MUST(env::rename_file(wal_, aside_));
    MUST(env::write_file_atomically(staged_, "whatever it has built"));
  }
  void expect_refused() {
    const Error error = try_open().error();
    EXPECT_EQ(error.code, Errc::kCorrupt);
    EXPECT_NE(error.message.find("set aside"), std::string::npos) << error.message;
    EXPECT_NE(error.hint.find("runnel fsck --repair"), std::string::npos) << error.hint;
  }
  void expect_repaired_whole() {
    const RepairReport report = repair();
    EXPECT_TRUE(report.dropped.empty()) << dropped(report);
    for (const std::string& path : {aside_, staged_}) EXPECT_FALSE(env::exists(path)) << path;
    EXPECT_TRUE(fsck().sound());
    open();
    EXPECT_EQ(batches_after(0), original_);
    for (const Batch& batch : original_) EXPECT_TRUE(log_->archived(job_of(batch)).ok());
    close();
  }
};

TEST_F(HalfReplaced, IsRefusedAndRepairedWhole) {
  leave_half_replaced();
  expect_refused();
  EXPECT_FALSE(fsck().sound());
  expect_refused();  // Looking may leave an empty write-ahead log beside the database.
  expect_repaired_whole();
}

TEST_F(HalfReplaced, IsRefusedWithoutTheNoteOfItsLastBatchToo) {
  leave_half_replaced();
  MUST(env::remove_file(path_ + "-head"));
  expect_refused();
  EXPECT_FALSE(fsck().sound());
  expect_repaired_whole();
}

TEST_F(HalfReplaced, IsRefusedWhereTheDatabaseWasGone) {
  leave_half_replaced();
  MUST(env::remove_file(path_ + "-head"));
  MUST(env::remove_file(path_));
  expect_refused();
  EXPECT_FALSE(fsck().sound());
  EXPECT_EQ(repair().last, BatchSeq(20));
  open();
  EXPECT_EQ(batches_after(0), original_);
}

TEST_F(HalfReplaced, IsNotWhatTheNewDatabaseIsInPlaceOf) {
  leave_half_replaced();
  const std::string wal = MUST(env::read_file(aside_));
  expect_repaired_whole();
  MUST(env::write_file_atomically(aside_, wal));  // All that is left to do is to remove it.
  EXPECT_TRUE(fsck().sound());
  open();
  append(1);
  original_ = batches_after(0);
  close();
  clock_.advance(Duration::seconds(1));
  EXPECT_TRUE(repair().dropped.empty());
  EXPECT_FALSE(env::exists(aside_));
  open();
  EXPECT_EQ(batches_after(0), original_);
}

TEST_F(FsckTest, RepairOfASoundLogDropsNothing) {
  make_log(5);
  crash();
  const RepairReport report = repair();
  EXPECT_TRUE(report.dropped.empty()) << dropped(report);
  open();
  EXPECT_EQ(batches_after(0), original_);
}

TEST_F(FsckTest, RepairAlwaysLeadsToASoundPrefix) {
  make_log(30);
  close();
  const std::string db = MUST(env::read_file(path_));
  std::mt19937 random(4);
  for (int i = 0; i < 40; ++i) {
    std::string flipped = db;
    for (int flips = 0; flips < 3; ++flips) {
      const std::size_t at = 100 + random() % (db.size() - 100);
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    }
    repair_to_a_sound_prefix(flipped);
  }
}

TEST_F(FsckTest, RepairLeadsToASoundPrefixWhereverBytesArePutIn) {
  make_log(30);
  close();
  const std::string db = MUST(env::read_file(path_));
  for (std::size_t at = 100; at < db.size(); at += 4000) {
    for (const std::size_t size : {std::size_t{700}, std::size_t{4096}}) {
      SCOPED_TRACE(std::to_string(size) + " at " + std::to_string(at));
      repair_to_a_sound_prefix(std::string(db).insert(at, size, '\xAA'));
      repair_to_a_sound_prefix(std::string(db).erase(at, size));
    }
  }
}

TEST_F(FsckTest, RepairLeadsToASoundPrefixWhateverTheHeaderSays) {
  make_log(3);
  close();
  const std::string db = MUST(env::read_file(path_));
  for (std::size_t at = 0; at < 100; at += 3) {
    if (at >= kFormatAt && at < kFormatAt + 4) continue;  // A newer format is left alone.
    SCOPED_TRACE("byte " + std::to_string(at));
    std::string flipped = db;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    repair_to_a_sound_prefix(flipped);
  }
}

}  // namespace
}  // namespace runnel::store
