#include "store/sqlite/detail/tables.h"

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "store/sqlite/detail/open.h"
#include "store/testing/batches.h"

namespace runnel::store::sqlite {
namespace {

class TablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MUST(create_database(path_));
    opened_.emplace(MUST(open_existing(path_)));
    tables_ = &opened_->tables;
  }

  void change(const char* sql) { MUST(opened_->database.execute(sql)); }

  void insert_batches(std::int64_t count) {
    Head head;
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<Batch> batch = {testing::next_batch(head, Epoch())};
      head = MUST(chain_batches(head, Epoch(), batch));
      MUST(tables_->insert_batch(batch.front()));
    }
  }

  std::vector<std::int64_t> visited(BatchSeq after, std::int64_t last) {
    std::vector<std::int64_t> seqs;
    MUST(tables_->each_batch(after, [&](const Batch& batch) -> Result<bool> {
      seqs.push_back(batch.seq.value());
      return batch.seq.value() < last;
    }));
    return seqs;
  }

  env::testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("log.db");
  std::optional<OpenDatabase> opened_;
  Tables* tables_ = nullptr;
};

TEST_F(TablesTest, TheRowAboutTheLogIsKept) {
  Meta meta = MUST(tables_->meta());
  EXPECT_EQ(meta.format, kFormatVersion);
  EXPECT_EQ(meta.epoch, Epoch());
  EXPECT_EQ(meta.base.last, BatchSeq());
  EXPECT_EQ(meta.base.next_event, EventSeq(1));
  meta.epoch = Epoch(9);
  meta.base = {BatchSeq(4), EventSeq(8), "hash", Epoch()};
  MUST(tables_->set_meta(meta));
  const Meta read = MUST(tables_->meta());
  EXPECT_EQ(read.epoch, Epoch(9));
  EXPECT_EQ(read.base, meta.base);
}

TEST_F(TablesTest, EveryColumnOfTheRowAboutTheLogIsGuarded) {
  for (const char* sql :
       {"UPDATE meta SET format = 0", "UPDATE meta SET epoch = 7", "UPDATE meta SET base_seq = 7",
        "UPDATE meta SET base_event = 7", "UPDATE meta SET base_hash = 'x'",
        "UPDATE meta SET checksum = 0", "DELETE FROM meta"}) {
    change(sql);
    EXPECT_EQ(tables_->meta().error().code, Errc::kCorrupt) << sql;
    MUST(tables_->set_meta(Meta()));
  }
}

TEST_F(TablesTest, BatchesAreFoundByNumber) {
  EXPECT_EQ(MUST(tables_->last_batch()), std::nullopt);
  EXPECT_EQ(MUST(tables_->first_seq()), std::nullopt);
  insert_batches(5);
  EXPECT_EQ(MUST(tables_->batch(BatchSeq(3)))->seq, BatchSeq(3));
  EXPECT_EQ(MUST(tables_->batch(BatchSeq(6))), std::nullopt);
  EXPECT_EQ(MUST(tables_->last_batch())->seq, BatchSeq(5));
  EXPECT_EQ(MUST(tables_->first_event(BatchSeq(2))), EventSeq(3));
  EXPECT_EQ(MUST(tables_->first_event(BatchSeq(7))), std::nullopt);
  MUST(tables_->delete_batches(BatchSeq(2)));
  EXPECT_EQ(MUST(tables_->first_seq()), BatchSeq(3));
}

TEST_F(TablesTest, ABatchIsWrittenOnce) {
  insert_batches(1);
  const Batch again = *MUST(tables_->batch(BatchSeq(1)));
  EXPECT_FALSE(tables_->insert_batch(again).ok());
}

TEST_F(TablesTest, VisitsBatchesUntilToldToStop) {
  insert_batches(6);
  EXPECT_EQ(visited(BatchSeq(0), 99), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(visited(BatchSeq(2), 4), (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(visited(BatchSeq(6), 99).empty());
}

TEST_F(TablesTest, AnErrorOfTheVisitorEndsTheVisit) {
  insert_batches(3);
  const Result<void> result = tables_->each_batch(
      BatchSeq(), [](const Batch&) -> Result<bool> { return Error(Errc::kCancelled, "enough"); });
  EXPECT_EQ(result.error().code, Errc::kCancelled);
  EXPECT_EQ(visited(BatchSeq(0), 99).size(), 3U);  // The statement is free again.
}

TEST_F(TablesTest, SnapshotsCarryTheirPlaceAndAChecksum) {
  StoredSnapshot stored;
  stored.snapshot = {BatchSeq(4), "state"};
  stored.next_event = EventSeq(9);
  stored.batch_hash = "hash";
  MUST(tables_->insert_snapshot(stored));
  const StoredSnapshot read = *MUST(tables_->snapshot(BatchSeq(4)));
  EXPECT_TRUE(read.good);
  EXPECT_EQ(read.snapshot, stored.snapshot);
  EXPECT_EQ(read.head(), (Head{BatchSeq(4), EventSeq(9), "hash", Epoch()}));
  for (const char* sql :
       {"UPDATE snapshot SET text = 'stata'", "UPDATE snapshot SET next_event = 8",
        "UPDATE snapshot SET batch_hash = 'x'", "UPDATE snapshot SET checksum = 0"}) {
    change(sql);
    EXPECT_FALSE(MUST(tables_->snapshot(BatchSeq(4)))->good) << sql;
    MUST(tables_->insert_snapshot(stored));
  }
  EXPECT_EQ(MUST(tables_->snapshot(BatchSeq(5))), std::nullopt);
}

TEST_F(TablesTest, TheNewestSnapshotsStay) {
  for (std::int64_t through : {3, 9, 1, 5}) {
    StoredSnapshot stored;
    stored.snapshot.through = BatchSeq(through);
    MUST(tables_->insert_snapshot(stored));
  }
  MUST(tables_->delete_older_snapshots());
  EXPECT_EQ(MUST(tables_->snapshots()), (std::vector<BatchSeq>{BatchSeq(9), BatchSeq(5)}));
}

TEST_F(TablesTest, EntriesCarryAChecksumWithFixedBorders) {
  MUST(tables_->put_entry({"ab", "c", "d"}, BatchSeq(1)));
  EXPECT_TRUE(MUST(tables_->entry("ab"))->good);
  for (const char* sql :
       {"UPDATE archive SET key = 'a', sort_key = 'bc'", "UPDATE archive SET sort_key = 'x'",
        "UPDATE archive SET text = ''", "UPDATE archive SET batch = 2"}) {
    change(sql);
    bool good = true;
    MUST(tables_->each_entry([&](const StoredEntry& stored) -> Result<void> {
      good = stored.good;
      return {};
    }));
    EXPECT_FALSE(good) << sql;
    change("DELETE FROM archive");
    MUST(tables_->put_entry({"ab", "c", "d"}, BatchSeq(1)));
  }
}

TEST_F(TablesTest, ListsBetweenTwoPlaces) {
  for (const char* key : {"a", "b", "c", "d"}) {
    MUST(tables_->put_entry({key, std::string("s") + key, ""}, BatchSeq(1)));
  }
  const std::vector<StoredEntry> found = MUST(tables_->entries_below("sd", "d", "sb", 10));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].entry.key, "c");
  EXPECT_EQ(found[1].entry.key, "b");
  EXPECT_EQ(MUST(tables_->entries_below("t", "", "", 3)).size(), 3U);
}

TEST(AfterPrefix, IsTheFirstTextBeyondThePrefix) {
  EXPECT_EQ(after_prefix("ab"), "ac");
  EXPECT_EQ(after_prefix("a\xFF"), "b");
  EXPECT_EQ(after_prefix(""), "\xFF");
  EXPECT_EQ(after_prefix("\xFF\xFF"), "\xFF");
  EXPECT_EQ(after_prefix("p/"), "p0");
  EXPECT_GT(after_prefix("job"), "job\xF4\x8F\xBF\xBF");
}

}  // namespace
}  // namespace runnel::store::sqlite
