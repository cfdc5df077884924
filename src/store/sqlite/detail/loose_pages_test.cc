#include "store/sqlite/detail/loose_pages.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "store/checks.h"
#include "store/sqlite/detail/open.h"
#include "store/testing/batches.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::size_t kPage = 4096;

// A database whose rows stand in its write-ahead log until checkpoint() moves them.
class LoosePagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MUST(create_database(path_));
    opened_.emplace(MUST(open_existing(path_)));
  }

  Tables& tables() { return opened_->tables; }
  LoosePages pages() { return MUST(LoosePages::read(path_)); }
  void checkpoint() { MUST(opened_->database.text("PRAGMA wal_checkpoint(TRUNCATE)")); }
  void change(const char* sql) { MUST(opened_->database.execute(sql)); }

  std::string database() { return MUST(env::read_file(path_)); }
  std::string wal() { return MUST(env::read_file(path_ + "-wal")); }

  // What there is from now on, in place of what SQLite wrote.
  void put(const std::string& database, const std::string& wal) {
    opened_.reset();
    MUST(env::write_file_atomically(path_, database));
    MUST(env::write_file_atomically(path_ + "-wal", wal));
  }

  // Batches whose texts grow, so that they stand on one page, on two and on many.
  void insert_batches(std::int64_t count, std::size_t step = 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<Batch> batch = {testing::next_batch(head_, Epoch())};
      batch.front().input = "\"" + std::string(static_cast<std::size_t>(i) * step, 'x') + "\"";
      head_ = MUST(chain_batches(head_, Epoch(), batch));
      MUST(tables().insert_batch(batch.front()));
      original_.push_back(batch.front());
    }
  }

  // The batches that a chain from the beginning vouches for.
  static std::vector<Batch> chained(const LoosePages& pages) {
    std::vector<Batch> chain;
    Head head;
    for (bool grew = true; grew;) {
      grew = false;
      for (const Batch& batch : pages.batches(BatchSeq(head.last.value() + 1))) {
        if (!verify_follows(batch, head.last, head.next_event, head.hash).ok()) continue;
        head = {batch.seq, batch.next_event(), batch.hash, batch.epoch};
        chain.push_back(batch);
        grew = true;
        break;
      }
    }
    return chain;
  }

  static StoredSnapshot snapshot(std::int64_t through, std::size_t size) {
    StoredSnapshot stored;
    stored.snapshot = {BatchSeq(through), std::string(size, 's')};
    stored.next_event = EventSeq(2 * through);
    stored.batch_hash = "hash of " + std::to_string(through);
    return stored;
  }

  void put_entries(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      MUST(tables().put_entry({"job-" + number, number, "record " + number}, BatchSeq(i)));
    }
  }

  env::testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("t.db");
  std::optional<OpenDatabase> opened_;
  Head head_;
  std::vector<Batch> original_;
};

TEST_F(LoosePagesTest, NoFilesAndFilesOfNoPagesHaveNoRows) {
  for (const bool is_there : {true, false}) {
    put("", "");
    if (!is_there) {
      MUST(env::remove_file(path_));
      MUST(env::remove_file(path_ + "-wal"));
    }
    EXPECT_EQ(pages().last(), BatchSeq());
    EXPECT_TRUE(pages().batches(BatchSeq(1)).empty());
    EXPECT_TRUE(pages().snapshots().empty());
    EXPECT_TRUE(pages().entries().empty());
    EXPECT_FALSE(pages().meta().has_value());
  }
}

TEST_F(LoosePagesTest, FindsBatchesInTheDatabaseAndInItsLog) {
  insert_batches(50, 400);
  EXPECT_EQ(chained(pages()), original_);
  checkpoint();
  EXPECT_EQ(chained(pages()), original_);
  insert_batches(50, 400);
  EXPECT_EQ(chained(pages()), original_);
  EXPECT_EQ(pages().last(), BatchSeq(100));
}

TEST_F(LoosePagesTest, ReadsPayloadsOfEverySizeAroundThoseThatFillAPage) {
  std::int64_t seq = 0;
  std::vector<std::string> texts;
  for (std::size_t size = 3900; size < 4200; ++size) texts.emplace_back(size, 'a');
  for (std::size_t size = 8000; size < 8300; ++size) texts.emplace_back(size, 'b');
  change("BEGIN");
  for (const std::string& text : texts) {
    MUST(tables().insert_snapshot(snapshot(++seq, text.size())));
  }
  change("COMMIT");
  checkpoint();
  const std::vector<StoredSnapshot> found = pages().snapshots();
  ASSERT_EQ(found.size(), texts.size());
  for (const StoredSnapshot& each : found) {
    const auto at = static_cast<std::size_t>(each.snapshot.through.value() - 1);
    ASSERT_EQ(each.snapshot.text.size(), texts[at].size());
  }
}

TEST_F(LoosePagesTest, ReadsNumbersOfEverySize) {
  std::vector<std::int64_t> numbers = {std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  for (int bits = 0; bits < 63; ++bits) {
    for (const int off : {-1, 0, 1}) {
      numbers.push_back((std::int64_t{1} << bits) + off);
      numbers.push_back(-(std::int64_t{1} << bits) + off);
    }
  }
  Batch batch;
  batch.input = batch.events = batch.hash = "x";
  change("BEGIN");
  for (const std::int64_t number : numbers) {
    batch.seq = BatchSeq(batch.seq.value() + 1);
    batch.event_count = number;
    MUST(tables().insert_batch(batch));
  }
  change("COMMIT");
  const LoosePages found = pages();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::vector<Batch> claims = found.batches(BatchSeq(static_cast<std::int64_t>(i) + 1));
    ASSERT_EQ(claims.size(), 1U) << numbers[i];
    ASSERT_EQ(claims.front().event_count, numbers[i]);
  }
}

TEST_F(LoosePagesTest, GivesGoodSnapshotsNewestFirst) {
  for (const std::int64_t through : {3, 9, 6}) {
    MUST(tables().insert_snapshot(snapshot(through, 20'000)));
  }
  checkpoint();
  change("UPDATE snapshot SET next_event = next_event + 1 WHERE seq = 9");
  checkpoint();
  const std::vector<StoredSnapshot> found = pages().snapshots();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].snapshot, (Snapshot{BatchSeq(6), std::string(20'000, 's')}));
  EXPECT_EQ(found[0].next_event, EventSeq(12));
  EXPECT_EQ(found[0].batch_hash, "hash of 6");
  EXPECT_TRUE(found[0].good);
  EXPECT_EQ(found[1].snapshot.through, BatchSeq(3));
}

TEST_F(LoosePagesTest, GivesOfEachKeyTheNewestGoodRecord) {
  put_entries(100);
  checkpoint();
  MUST(tables().put_entry({"job-7", "7", "changed"}, BatchSeq(200)));
  change("UPDATE archive SET text = 'x' WHERE key = 'job-9'");
  checkpoint();
  const std::vector<StoredEntry> found = pages().entries();
  ASSERT_EQ(found.size(), 99U);
  for (const StoredEntry& each : found) {
    EXPECT_NE(each.entry.key, "job-9");
    EXPECT_EQ(each.entry.text,
              each.entry.key == "job-7" ? "changed" : "record " + each.entry.sort_key);
  }
}

TEST_F(LoosePagesTest, GivesTheNewestGoodRowOfFacts) {
  Meta meta;
  meta.base = {BatchSeq(5), EventSeq(11), "hash", Epoch()};
  for (const std::int64_t epoch : {7, 8}) {
    meta.epoch = Epoch(epoch);
    MUST(tables().set_meta(meta));
  }
  ASSERT_TRUE(pages().meta().has_value());
  EXPECT_EQ(pages().meta()->epoch, Epoch(8));
  EXPECT_EQ(pages().meta()->base.last, BatchSeq(5));
  EXPECT_EQ(pages().meta()->base.hash, "hash");
  checkpoint();
  change("UPDATE meta SET epoch = 9");
  checkpoint();
  EXPECT_FALSE(pages().meta().has_value());
}

TEST_F(LoosePagesTest, NeedsNoOtherPage) {
  insert_batches(60);
  put_entries(60);
  checkpoint();
  std::string bytes = database();
  bytes.replace(0, kPage, std::string(kPage, '\xAA'));
  put(bytes, "");
  EXPECT_EQ(chained(pages()), original_);
  EXPECT_EQ(pages().entries().size(), 60U);
}

TEST_F(LoosePagesTest, FindsPagesThatBytesPutInOrTakenOutHaveMoved) {
  insert_batches(40, 400);
  checkpoint();
  const std::string bytes = database();
  for (const std::size_t size : {std::size_t{1}, std::size_t{700}, std::size_t{3000}}) {
    put(std::string(bytes).insert(kPage / 2, size, '\xAA'), "");
    EXPECT_EQ(chained(pages()), original_) << size << " put in";
    put(std::string(bytes).erase(kPage / 2, size), "");
    EXPECT_EQ(chained(pages()), original_) << size << " taken out";
  }
}

TEST_F(LoosePagesTest, FindsFramesOfTheLogThatHaveMoved) {
  checkpoint();
  insert_batches(40, 200);
  const std::string frames = wal();
  put(database(), std::string(frames).insert(40, 321, '\xAA'));
  const std::vector<Batch> found = chained(pages());
  EXPECT_EQ(found, original_);
}

TEST_F(LoosePagesTest, PassesOverRowsOfOtherTables) {
  change("CREATE TABLE other (a INTEGER, b TEXT, c BLOB, d REAL)");
  change("INSERT INTO other VALUES (0, 'b', x'00', 1.5), (1, '', NULL, 2.5), (NULL, NULL, 0, 0)");
  checkpoint();
  EXPECT_EQ(pages().last(), BatchSeq());
  EXPECT_TRUE(pages().snapshots().empty());
  EXPECT_TRUE(pages().entries().empty());
}

TEST_F(LoosePagesTest, GivesEveryClaimOfANumber) {
  insert_batches(3);
  change("UPDATE batch SET input = '{}' WHERE seq = 2");
  const std::vector<Batch> claims = pages().batches(BatchSeq(2));
  ASSERT_EQ(claims.size(), 2U) << "the log has the page as it was before, too";
  EXPECT_NE(claims[0].input, claims[1].input);
  EXPECT_EQ(chained(pages()), original_) << "and the chain tells which is true";
}

TEST_F(LoosePagesTest, NeedsNoDatabaseBesideTheLog) {
  insert_batches(40);
  const std::string frames = wal();
  put("", frames);
  EXPECT_EQ(chained(pages()), original_);
}

TEST_F(LoosePagesTest, DoesNotTakeFramesOfAnEarlierLogForThisOnes) {
  put_entries(3);
  const std::string earlier = wal();
  checkpoint();
  change("DELETE FROM archive");
  const std::string frames = wal();
  checkpoint();
  ASSERT_LT(frames.size(), earlier.size());
  put(database(), frames + earlier.substr(frames.size()));
  EXPECT_TRUE(pages().entries().empty());
}

TEST_F(LoosePagesTest, EndsWherePagesLeadInACircle) {
  MUST(tables().insert_snapshot(snapshot(3, 50'000)));
  checkpoint();
  std::string bytes = database();
  for (std::size_t page = kPage; page < bytes.size(); page += kPage) {
    const std::string number{'\0', '\0', '\0', static_cast<char>(page / kPage + 1)};
    if (bytes[page + 4] == 's') bytes.replace(page, 4, number);
  }
  put(bytes, "");
  (void)pages().snapshots();  // Whatever it finds, it comes back.
}

TEST_F(LoosePagesTest, NoDamageMakesItGiveWhatNobodyWrote) {
  insert_batches(40, 300);
  put_entries(40);
  MUST(tables().insert_snapshot(snapshot(3, 10'000)));
  checkpoint();
  const std::string bytes = database();
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = bytes;
    for (int flips = 0; flips < 40; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    put(damaged, "");
    const LoosePages found = pages();
    for (const StoredEntry& each : found.entries()) {
      ASSERT_EQ(each.entry.text, "record " + each.entry.sort_key);
    }
    const std::vector<Batch> chain = chained(found);
    ASSERT_LE(chain.size(), original_.size());
    ASSERT_TRUE(std::equal(chain.begin(), chain.end(), original_.begin()));
  }
}

}  // namespace
}  // namespace runnel::store::sqlite
