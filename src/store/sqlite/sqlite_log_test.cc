#include "store/sqlite/sqlite_log.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "store/sqlite/detail/head_file.h"
#include "store/sqlite/fsck.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/testing/sqlite_files.h"

namespace runnel::store {
namespace {

class SqliteLogTest : public SqliteFiles {
 protected:
  Error damage_found() {
    const Result<std::unique_ptr<EventLog>> log = try_open();
    if (log.ok()) return Error(Errc::kInternal, "no damage was found");
    return log.error();
  }

  // Twelve transactions in the write-ahead log, none in the database: the usual state of a live
  // log.
  std::string live_wal() {
    make_log(12);
    crash();
    return MUST(env::read_file(path_ + "-wal"));
  }
};

TEST_F(SqliteLogTest, ClosingLeavesNoWriteAheadLog) {
  make_log(3);
  close();
  EXPECT_EQ(MUST(env::list_directory(folder_.path())),
            (std::vector<std::string>{"log.db", "log.db-head", "log.db-reserve"}));
}

TEST_F(SqliteLogTest, ACrashLosesNothing) {
  make_log(5);
  crash();
  open();
  EXPECT_TRUE(log_->open_report().notices.empty());
  EXPECT_EQ(MUST(log_->read(BatchSeq(), 100)), original_);
  append(1);
}

TEST_F(SqliteLogTest, RefusesANewerFormatWithARemedy) {
  make_log(1);
  close();
  tamper("PRAGMA user_version = 2");
  const Error error = damage_found();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_NE(error.message.find("format 2"), std::string::npos);
  EXPECT_FALSE(error.hint.empty());
  EXPECT_TRUE(copies().empty());
}

TEST_F(SqliteLogTest, NamesTheDamagedBatchAndKeepsACopy) {
  make_log(9);
  close();
  tamper("UPDATE batch SET events = '[]' WHERE seq = 7");
  const Error error = damage_found();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_EQ(error.value, "7");
  EXPECT_NE(error.message.find("batch 7 of the event log is damaged"), std::string::npos);
  ASSERT_EQ(copies(), std::vector<std::string>{folder_.file("damaged-20300317T174640Z")});
  EXPECT_NE(error.hint.find(copies().front()), std::string::npos);
  EXPECT_EQ(MUST(env::read_file(copies().front() + "/log.db")), MUST(env::read_file(path_)));
}

TEST_F(SqliteLogTest, AConnectionNamesTheDamagedBatch) {
  make_log(9);
  const std::unique_ptr<LogConnection> connection = MUST(log_->connect());
  const auto read = [&connection](std::int64_t after, std::int64_t limit) {
    return connection->read(
        [after, limit](LogReader& log) { return log.read(BatchSeq(after), limit); });
  };
  EXPECT_EQ(MUST(read(0, 20)).size(), 9U);
  tamper("UPDATE batch SET events = '[]' WHERE seq = 7");
  EXPECT_EQ(MUST(read(0, 6)).size(), 6U);
  const Result<std::vector<Batch>> damaged = read(6, 1);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, Errc::kCorrupt);
  EXPECT_EQ(damaged.error().value, "7");
  tamper("DELETE FROM batch WHERE seq = 7");
  EXPECT_EQ(read(6, 1).error().code, Errc::kCorrupt);
}

// Its end is read before anything of it is verified.
TEST_F(SqliteLogTest, AConnectionSaysOfALogThatEndsBeforeItBeginsThatItIsDamaged) {
  make_log(9);
  const std::unique_ptr<LogConnection> connection = MUST(log_->connect());
  tamper("DELETE FROM batch");
  tamper("INSERT INTO batch SELECT -1, 1, 1, 1, 0, '', '', ''");
  const Result<Kept> kept = connection->read([](LogReader& log) { return log.kept(); });
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, Errc::kCorrupt);
}

TEST_F(SqliteLogTest, AConnectionNeedsALogThatIsThere) {
  EXPECT_FALSE(connect_sqlite(folder_.file("nowhere.db")).ok());
  EXPECT_FALSE(env::exists(folder_.file("nowhere.db")));
}

TEST_F(SqliteLogTest, CopiesTheSameDamageOnce) {
  make_log(3);
  close();
  tamper("DELETE FROM batch WHERE seq = 2");
  EXPECT_EQ(damage_found().value, "2");
  clock_.advance(Duration::hours(1));
  EXPECT_EQ(damage_found().value, "2");
  EXPECT_EQ(copies().size(), 1U);
}

TEST_F(SqliteLogTest, EveryColumnOfABatchIsGuarded) {
  make_log(4);
  close();
  const std::string sound = MUST(env::read_file(path_));
  for (const char* change : {"first_event = 6", "event_count = 9", "event_count = -1", "epoch = 5",
                             "now = 1", "input = '{}'", "events = '[]'", "hash = ''", "seq = 40"}) {
    tamper(std::string("UPDATE batch SET ") + change + " WHERE seq = 3");
    const Error error = damage_found();
    EXPECT_EQ(error.code, Errc::kCorrupt) << change;
    EXPECT_EQ(error.value, "3") << change;
    MUST(env::write_file_atomically(path_, sound));
  }
}

TEST_F(SqliteLogTest, TheRowAboutTheLogIsGuarded) {
  make_log(2);
  close();
  tamper("UPDATE meta SET epoch = 0");
  EXPECT_EQ(damage_found().code, Errc::kCorrupt);
}

TEST_F(SqliteLogTest, ADamagedSnapshotFallsBackToTheOlderOne) {
  make_log(9);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(4), "four"}));
  MUST(log_->save_snapshot(epoch_, {BatchSeq(8), "eight"}));
  close();
  tamper("UPDATE snapshot SET text = 'night' WHERE seq = 8");
  open();
  EXPECT_EQ(log_->open_report().notices.size(), 1U);
  EXPECT_EQ(MUST(log_->load_snapshot()), (Snapshot{BatchSeq(4), "four"}));
  close();
  tamper("UPDATE snapshot SET batch_hash = 'x' WHERE seq = 4");
  open();
  EXPECT_EQ(log_->open_report().notices.size(), 2U);
  EXPECT_EQ(MUST(log_->load_snapshot()), std::nullopt);
  EXPECT_EQ(log_->head().last, BatchSeq(9));
}

TEST_F(SqliteLogTest, KeepsTwoSnapshots) {
  make_log(5);
  for (std::int64_t through = 1; through <= 5; ++through) {
    MUST(log_->save_snapshot(epoch_, {BatchSeq(through), "s"}));
  }
  close();
  tamper("DELETE FROM snapshot WHERE seq = 5");
  tamper("DELETE FROM snapshot WHERE seq = 4");
  open();
  EXPECT_EQ(MUST(log_->load_snapshot()), std::nullopt);
}

TEST_F(SqliteLogTest, OpeningVerifiesFromTheSnapshotOnAndReadingTheRest) {
  make_log(9);
  MUST(log_->save_snapshot(epoch_, {BatchSeq(6), "six"}));
  close();
  tamper("UPDATE batch SET input = '{}' WHERE seq = 3");
  open();
  EXPECT_EQ(MUST(log_->read(BatchSeq(6), 10)).size(), 3U);
  EXPECT_EQ(log_->read(BatchSeq(0), 10).error().value, "3");
  EXPECT_EQ(log_->find(EventSeq(5)).error().code, Errc::kCorrupt);
  close();
  tamper("UPDATE batch SET hash = 'x' WHERE seq = 6");
  EXPECT_EQ(damage_found().value, "6");
}

TEST_F(SqliteLogTest, ADamagedArchiveRecordIsNotHandedOut) {
  make_log(3);
  close();
  tamper("UPDATE archive SET text = 'other' WHERE key = 'job-1002'");
  open();
  EXPECT_EQ(log_->archived("job-1002").error().code, Errc::kCorrupt);
  EXPECT_EQ(log_->list_archive({}).error().value, "job-1002");
  EXPECT_TRUE(log_->archived("job-1001").ok());
}

TEST_F(SqliteLogTest, AnotherDatabaseIsNotTakenForALog) {
  make_log(1);
  close();
  tamper("PRAGMA application_id = 1");
  EXPECT_EQ(damage_found().code, Errc::kCorrupt);
  MUST(env::write_file_atomically(path_, "this is not a database, only a text of some length"));
  EXPECT_EQ(damage_found().code, Errc::kCorrupt);
  MUST(env::write_file_atomically(path_, ""));
  EXPECT_EQ(damage_found().code, Errc::kCorrupt);
}

TEST_F(SqliteLogTest, AVanishedDatabaseIsNotANewLog) {
  make_log(3);
  crash();
  MUST(env::remove_file(path_));
  EXPECT_EQ(damage_found().code, Errc::kCorrupt);
  EXPECT_EQ(copies().size(), 1U);
}

TEST_F(SqliteLogTest, AnUnfinishedCreationIsForgotten) {
  MUST(env::write_file_atomically(path_ + ".new", "half a database"));
  open();
  EXPECT_EQ(log_->head(), Head());
}

TEST_F(SqliteLogTest, SaysWhyItCannotBeOpened) {
  path_ = folder_.file("absent/log.db");
  EXPECT_FALSE(try_open().ok());
}

TEST_F(SqliteLogTest, ACutTailIsDroppedWithANoticeAndTheRestIsThere) {
  const std::string wal = live_wal();
  const std::string db = MUST(env::read_file(path_));
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const std::size_t size = i == 0 ? 0 : random() % wal.size();
    MUST(env::write_file_atomically(path_, db));
    MUST(env::write_file_atomically(path_ + "-wal", wal.substr(0, size)));
    MUST(env::remove_file(sqlite::head_path(path_)));  // As if nobody had been told of any.
    Result<std::unique_ptr<EventLog>> log = try_open();
    ASSERT_TRUE(log.ok()) << size << ": " << log.error().to_string();
    const std::vector<Batch> batches = MUST((*log)->read(BatchSeq(), 100));
    ASSERT_TRUE(is_prefix(batches, original_)) << size;
    const Result<std::unique_ptr<EventLog>>& again = log;
    ASSERT_LE((*again)->open_report().notices.size(), 1U);
    log = Error();
    open();  // The remains are gone: nothing is noticed a second time.
    ASSERT_TRUE(log_->open_report().notices.empty()) << size;
    close();
  }
}

TEST_F(SqliteLogTest, ALogThatLostItsEndIsDamaged) {
  const std::string wal = live_wal();
  const std::string db = MUST(env::read_file(path_));
  const std::string head = MUST(env::read_file(sqlite::head_path(path_)));
  for (const std::size_t size : {std::size_t{0}, wal.size() / 2, wal.size() - 1}) {
    MUST(env::write_file_atomically(path_, db));
    MUST(env::write_file_atomically(path_ + "-wal", wal.substr(0, size)));
    const Error error = damage_found();
    EXPECT_EQ(error.code, Errc::kCorrupt) << size;
    EXPECT_EQ(error.value, std::to_string(original_.size())) << error.to_string();
    EXPECT_FALSE(MUST(fsck_sqlite_log(path_)).sound());
    EXPECT_EQ(MUST(env::read_file(sqlite::head_path(path_))), head) << "looking changes nothing";
  }
  const RepairReport report = MUST(repair_sqlite_log(path_, clock_));
  ASSERT_FALSE(report.dropped.empty());
  EXPECT_NE(report.dropped.back().find(std::to_string(original_.size())), std::string::npos);
  EXPECT_TRUE(MUST(fsck_sqlite_log(path_)).sound());
  open();
  EXPECT_TRUE(is_prefix(MUST(log_->read(BatchSeq(), 100)), original_));
}

TEST_F(SqliteLogTest, AnOlderCopyIsNotTakenForTheLog) {
  make_log(3);
  close();
  const std::string older = MUST(env::read_file(path_));
  open();
  append(2);
  close();
  MUST(env::write_file_atomically(path_, older));
  const Error error = damage_found();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.message.find("batch 5 was durable"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("fsck"), std::string::npos);
}

TEST_F(SqliteLogTest, AnotherLogIsNotTakenForThisOne) {
  make_log(3);
  close();
  const std::string head = MUST(env::read_file(sqlite::head_path(path_)));
  for (const char* suffix : {"", "-head"}) MUST(env::remove_file(path_ + suffix));
  open();
  (void)MUST(log_->acquire_lease());
  epoch_ = MUST(log_->acquire_lease());  // So that its batches are others.
  append(9);
  close();
  MUST(env::write_file_atomically(sqlite::head_path(path_), head));
  EXPECT_NE(damage_found().message.find("another log"), std::string::npos);
}

TEST_F(SqliteLogTest, ALogThatIsGoneIsNotBegunAnew) {
  make_log(3);
  close();
  MUST(env::remove_file(path_));
  EXPECT_NE(damage_found().message.find("batch 3 of it was durable"), std::string::npos);
  EXPECT_FALSE(MUST(fsck_sqlite_log(path_)).sound());
  EXPECT_EQ(copies().size(), 1U);
  (void)MUST(repair_sqlite_log(path_, clock_));
  open();
  EXPECT_EQ(log_->head().last, BatchSeq());
  EXPECT_GT(MUST(log_->acquire_lease()), epoch_) << "no epoch is granted twice";
}

TEST_F(SqliteLogTest, ALostWriteAheadLogIsNoticedThoughTheDatabaseIsGoneToo) {
  make_log(3);
  crash();
  MUST(env::remove_file(path_));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(damage_found().code, Errc::kCorrupt);
  EXPECT_EQ(copies().size(), 1U) << "one copy of one damage";
  EXPECT_FALSE(MUST(fsck_sqlite_log(path_)).sound());
  (void)MUST(repair_sqlite_log(path_, clock_));
  EXPECT_TRUE(MUST(fsck_sqlite_log(path_)).sound());
}

TEST_F(SqliteLogTest, AGarbledNoteOfTheLastBatchIsWrittenAnewWithANotice) {
  make_log(3);
  close();
  MUST(env::write_file_atomically(sqlite::head_path(path_), "garbage"));
  open();
  EXPECT_EQ(log_->open_report().notices.size(), 1U);
  close();
  EXPECT_EQ(sqlite::noted_head(path_)->last, BatchSeq(3));
  MUST(env::remove_file(sqlite::head_path(path_)));
  open();
  EXPECT_TRUE(log_->open_report().notices.empty()) << "a log of an earlier build has none";
}

TEST_F(SqliteLogTest, ADatabaseThatIsCutBehindItsWriteAheadLogIsDamaged) {
  make_log(200);
  close();
  open();
  append(1);
  crash();
  const std::string db = MUST(env::read_file(path_));
  for (const std::size_t size : {db.size() / 2, db.size() - 4096}) {
    MUST(env::write_file_atomically(path_, db.substr(0, size)));
    EXPECT_EQ(damage_found().code, Errc::kCorrupt) << size;
    EXPECT_FALSE(MUST(fsck_sqlite_log(path_)).sound());
  }
}

TEST_F(SqliteLogTest, AFlippedByteInTheWriteAheadLogIsNeverSilent) {
  const std::string wal = live_wal();
  const std::string db = MUST(env::read_file(path_));
  std::mt19937 random(2);
  int damaged = 0;
  for (int i = 0; i < 150; ++i) {
    std::string flipped = wal;
    const std::size_t at = random() % wal.size();
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    MUST(env::write_file_atomically(path_, db));
    MUST(env::write_file_atomically(path_ + "-wal", flipped));
    Result<std::unique_ptr<EventLog>> log = try_open();
    if (!log.ok()) {
      ASSERT_EQ(log.error().code, Errc::kCorrupt) << log.error().to_string();
      ++damaged;
      continue;
    }
    // Only the last transaction may be gone, and then it is said.
    const std::vector<Batch> batches = MUST((*log)->read(BatchSeq(), 100));
    ASSERT_TRUE(is_prefix(batches, original_)) << at;
    ASSERT_GE(batches.size(), original_.size() - 1) << at;
    ASSERT_EQ(batches.size() < original_.size(), !(*log)->open_report().notices.empty()) << at;
  }
  EXPECT_GT(damaged, 100);
}

TEST_F(SqliteLogTest, AFlippedByteInTheDatabaseNeverGivesWrongData) {
  make_log(40);
  close();
  const std::string db = MUST(env::read_file(path_));
  std::mt19937 random(3);
  int found = 0;
  for (int i = 0; i < 250; ++i) {
    std::string flipped = db;
    const std::size_t at = random() % db.size();
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    MUST(env::write_file_atomically(path_, flipped));
    Result<std::unique_ptr<EventLog>> log = try_open();
    if (!log.ok()) {
      ASSERT_TRUE(log.error().code == Errc::kCorrupt || log.error().code == Errc::kUnsupported)
          << at << ": " << log.error().to_string();
      ++found;
      continue;
    }
    ASSERT_EQ(MUST((*log)->read(BatchSeq(), 100)), original_) << at;
    for (int key = 1001; key <= 1040; ++key) {
      const std::string number = std::to_string(key);
      const Result<ArchiveEntry> entry = (*log)->archived("job-" + number);
      if (entry.ok()) {
        ASSERT_EQ(entry->text, "record of " + number) << at;
      }
    }
    log = Error();
  }
  EXPECT_GT(found, 20);
}

TEST_F(SqliteLogTest, ACutDatabaseIsDamaged) {
  make_log(200);
  close();
  const std::string db = MUST(env::read_file(path_));
  for (const std::size_t size : {std::size_t{0}, std::size_t{50}, std::size_t{4096}, db.size() / 2,
                                 db.size() - 4096, db.size() - 1}) {
    MUST(env::write_file_atomically(path_, db.substr(0, size)));
    const Error error = damage_found();
    EXPECT_EQ(error.code, Errc::kCorrupt) << size << ": " << error.to_string();
  }
}

TEST_F(SqliteLogTest, TwoLogsOnOneFileAreFencedByTheEpoch) {
  open();
  append(1);
  const std::unique_ptr<EventLog> other = MUST(try_open());
  const Epoch newer = MUST(other->acquire_lease());
  EXPECT_GT(newer, epoch_);
  const Result<void> refused = log_->append(epoch_, testing::next_batches(*log_, epoch_, 1));
  EXPECT_EQ(refused.error().code, Errc::kPrecondition);
  MUST(other->append(newer, testing::next_batches(*other, newer, 1)));
}

}  // namespace
}  // namespace runnel::store
