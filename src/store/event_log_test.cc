#include "store/event_log.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "env/testing/manual_clock.h"
#include "env/testing/temporary_directory.h"
#include "store/memory/memory_log.h"
#include "store/sqlite/sqlite_log.h"
#include "store/testing/batches.h"

// What every back-end promises, run against each of them.
namespace runnel::store {
namespace {

using testing::next_batch;
using testing::next_batches;
using testing::without_hash;

class MemoryBackend {
 public:
  Result<std::unique_ptr<EventLog>> open() { return open_memory_log(storage_); }

 private:
  std::shared_ptr<MemoryStorage> storage_ = std::make_shared<MemoryStorage>();
};

class SqliteBackend {
 public:
  Result<std::unique_ptr<EventLog>> open() {
    return open_sqlite_log(folder_.file("log.db"), clock_);
  }

 private:
  env::testing::TemporaryDirectory folder_;
  env::testing::ManualClock clock_;
};

template <typename Backend>
class EventLogTest : public ::testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen() {
    log_.reset();  // Before the next opening: there is one at a time.
    log_ = MUST(backend_.open());
  }

  Epoch lease() { return epoch_ = MUST(log_->acquire_lease()); }

  void append(std::int64_t count = 1) {
    if (epoch_ == Epoch()) lease();
    MUST(log_->append(epoch_, next_batches(*log_, epoch_, count)));
  }

  void archive(std::vector<ArchiveEntry> entries, std::vector<std::string> removed = {}) {
    if (epoch_ == Epoch()) lease();
    MUST(log_->append(epoch_, {}, {std::move(entries), std::move(removed)}));
  }

  std::vector<Batch> all() { return MUST(log_->read(BatchSeq(), kReadBatchesMax)); }

  // Every key of the archive that matches, over all pages.
  std::vector<std::string> listed(ArchiveQuery query) {
    std::vector<std::string> keys;
    do {
      ArchivePage page = MUST(log_->list_archive(query));
      for (const ArchiveEntry& entry : page.entries) keys.push_back(entry.key);
      query.page_token = page.next_token;
    } while (!query.page_token.empty());
    return keys;
  }

  Backend backend_;
  std::unique_ptr<EventLog> log_;
  Epoch epoch_;
};

using Backends = ::testing::Types<MemoryBackend, SqliteBackend>;
TYPED_TEST_SUITE(EventLogTest, Backends);

TYPED_TEST(EventLogTest, BeginsEmpty) {
  EXPECT_EQ(this->log_->head(), Head());
  EXPECT_TRUE(this->log_->open_report().notices.empty());
  EXPECT_TRUE(this->all().empty());
  EXPECT_EQ(MUST(this->log_->load_snapshot()), std::nullopt);
  EXPECT_EQ(this->log_->find(EventSeq(1)).error().code, Errc::kNotFound);
  EXPECT_TRUE(this->listed({}).empty());
}

TYPED_TEST(EventLogTest, ReadsWhatWasAppended) {
  const Epoch epoch = this->lease();
  const std::vector<Batch> batches = next_batches(*this->log_, epoch, 5);
  MUST(this->log_->append(epoch, {batches[0]}));
  MUST(this->log_->append(epoch, {batches[1], batches[2], batches[3], batches[4]}));
  const std::vector<Batch> read = this->all();
  ASSERT_EQ(read.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(without_hash(read[i]), batches[i]);
  EXPECT_EQ(this->log_->head().last, BatchSeq(5));
  EXPECT_EQ(this->log_->head().next_event, EventSeq(11));
  EXPECT_EQ(this->log_->head().hash, read[4].hash);
}

TYPED_TEST(EventLogTest, ChainsTheHashes) {
  this->append(3);
  std::string previous;
  for (const Batch& batch : this->all()) {
    EXPECT_EQ(batch.hash, chained_hash(previous, batch));
    previous = batch.hash;
  }
}

TYPED_TEST(EventLogTest, KeepsAllOverOpenings) {
  this->append(3);
  const Head head = this->log_->head();
  const std::vector<Batch> before = this->all();
  this->reopen();
  EXPECT_EQ(this->log_->head(), head);
  EXPECT_EQ(this->all(), before);
  this->append(2);
  EXPECT_EQ(this->all().size(), 5U);
}

// One call of a connection, each of a moment of its own.
Kept kept_by(LogConnection& connection) {
  return MUST(connection.read([](LogReader& log) { return log.kept(); }));
}
Result<std::vector<Batch>> read_by(LogConnection& connection, BatchSeq after) {
  return connection.read([after](LogReader& log) { return log.read(after, kReadBatchesMax); });
}
Result<Batch> find_by(LogConnection& connection, EventSeq event) {
  return connection.read([event](LogReader& log) { return log.find(event); });
}
Result<ArchiveEntry> archived_by(LogConnection& connection, std::string_view key) {
  return connection.read([key](LogReader& log) { return log.archived(key); });
}

TYPED_TEST(EventLogTest, AConnectionSeesWhatBecameDurableSinceItWasOpened) {
  const std::unique_ptr<LogConnection> connection = MUST(this->log_->connect());
  EXPECT_EQ(kept_by(*connection), MUST(this->log_->kept()));
  this->append(3);
  this->archive({{"job1", "1", "one"}, {"job2", "2", "two"}});
  EXPECT_EQ(kept_by(*connection), MUST(this->log_->kept()));
  EXPECT_EQ(MUST(read_by(*connection, BatchSeq())), this->all());
  EXPECT_EQ(MUST(find_by(*connection, EventSeq(3))), MUST(this->log_->find(EventSeq(3))));
  EXPECT_EQ(find_by(*connection, EventSeq(100)).error().code, Errc::kNotFound);
  EXPECT_EQ(MUST(archived_by(*connection, "job1")).text, "one");
  const auto list = [](LogReader& log) { return log.list_archive({}); };
  EXPECT_EQ(MUST(connection->read(list)).entries.front().key, "job2");
  const auto keys = [](LogReader& log) { return log.archive_keys("job", 10); };
  EXPECT_EQ(MUST(connection->read(keys)).size(), 2U);
}

TYPED_TEST(EventLogTest, AConnectionTellsWhatWasPrunedSinceItWasOpened) {
  this->append(10);
  const std::unique_ptr<LogConnection> connection = MUST(this->log_->connect());
  const std::vector<Batch> before = MUST(read_by(*connection, BatchSeq(4)));
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(4), "four"}));
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(8), "eight"}));
  MUST(this->log_->prune(this->epoch_, BatchSeq(4)));
  EXPECT_EQ(kept_by(*connection).base.last, BatchSeq(4));
  EXPECT_EQ(kept_by(*connection).base.next_event, EventSeq(9));
  EXPECT_EQ(read_by(*connection, BatchSeq(3)).error().code, Errc::kGone);
  EXPECT_EQ(find_by(*connection, EventSeq(8)).error().code, Errc::kGone);
  EXPECT_EQ(MUST(find_by(*connection, EventSeq(9))).seq, BatchSeq(5));
  EXPECT_EQ(MUST(read_by(*connection, BatchSeq(4))), before);
}

TYPED_TEST(EventLogTest, AConnectionSeesNoArchiveThatWasRemoved) {
  this->archive({{"job1", "1", "one"}});
  const std::unique_ptr<LogConnection> connection = MUST(this->log_->connect());
  EXPECT_EQ(MUST(archived_by(*connection, "job1")).text, "one");
  this->archive({}, {"job1"});
  EXPECT_EQ(archived_by(*connection, "job1").error().code, Errc::kNotFound);
  const auto list = [](LogReader& log) { return log.list_archive({}); };
  EXPECT_TRUE(MUST(connection->read(list)).entries.empty());
}

TYPED_TEST(EventLogTest, AConnectionOnAnotherThreadSeesWholeBatchesInOrder) {
  this->append(1);
  const std::unique_ptr<LogConnection> connection = MUST(this->log_->connect());
  std::atomic<bool> done{false};
  std::thread reading([&] {
    std::size_t seen = 0;
    const auto look = [&seen](LogReader& log) -> Result<void> {
      const std::vector<Batch> batches = TRY(log.read(BatchSeq(), kReadBatchesMax));
      EXPECT_GE(batches.size(), seen) << "what was durable is gone";
      seen = batches.size();
      const Kept kept = TRY(log.kept());
      EXPECT_EQ(kept.head.last.value(), static_cast<std::int64_t>(seen)) << "of one moment";
      const Batch last = TRY(log.find(EventSeq(kept.head.next_event.value() - 1)));
      EXPECT_EQ(last.hash, kept.head.hash);
      return {};
    };
    while (!done) MUST(connection->read(look));
  });
  for (int round = 0; round < 100; ++round) this->append(1 + round % 3);
  done = true;
  reading.join();
  EXPECT_EQ(MUST(read_by(*connection, BatchSeq())), this->all());
}

// A job's record has many keys, which come and go together.
TYPED_TEST(EventLogTest, WhatAConnectionReadsKeyByKeyIsOfOneMoment) {
  this->append(1);
  const std::unique_ptr<LogConnection> connection = MUST(this->log_->connect());
  std::atomic<bool> done{false};
  std::thread reading([&] {
    const auto look = [](LogReader& log) -> Result<void> {
      const bool first = log.archived("job").ok();
      EXPECT_EQ(TRY(log.archive_keys("=job/", 10)).size(), first ? 2U : 0U);
      EXPECT_EQ(log.archived("=job/2").ok(), first);
      return {};
    };
    while (!done) MUST(connection->read(look));
  });
  for (int round = 0; round < 100; ++round) {
    this->archive({{"job", "1", "one"}, {"=job/1", "=", "one"}, {"=job/2", "=", "two"}});
    this->archive({}, {"job", "=job/1", "=job/2"});
  }
  done = true;
  reading.join();
}

TYPED_TEST(EventLogTest, AConnectionIsNoObstacleToAppends) {
  this->append(1);
  const std::unique_ptr<LogConnection> connection = MUST(this->log_->connect());
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(MUST(read_by(*connection, BatchSeq())).size(), 1U + round);
    this->append(1);
  }
}

TYPED_TEST(EventLogTest, ReadsInPages) {
  this->append(10);
  EXPECT_EQ(MUST(this->log_->read(BatchSeq(0), 3)).size(), 3U);
  const std::vector<Batch> page = MUST(this->log_->read(BatchSeq(3), 4));
  ASSERT_EQ(page.size(), 4U);
  EXPECT_EQ(page.front().seq, BatchSeq(4));
  EXPECT_EQ(MUST(this->log_->read(BatchSeq(9), 100)).size(), 1U);
  EXPECT_TRUE(MUST(this->log_->read(BatchSeq(10), 100)).empty());
  EXPECT_TRUE(MUST(this->log_->read(BatchSeq(99), 100)).empty());
  EXPECT_TRUE(MUST(this->log_->read(BatchSeq(0), 0)).empty());
}

TYPED_TEST(EventLogTest, APageIsBoundedInBytes) {
  const Epoch epoch = this->lease();
  for (int i = 0; i < 3; ++i) {
    Batch batch = next_batch(this->log_->head(), epoch);
    batch.input = R"({"text":")" + std::string(30 << 20, 'x') + R"("})";
    MUST(this->log_->append(epoch, {batch}));
  }
  EXPECT_EQ(MUST(this->log_->read(BatchSeq(0), 3)).size(), 2U);
  EXPECT_EQ(MUST(this->log_->read(BatchSeq(2), 3)).size(), 1U);
}

TYPED_TEST(EventLogTest, FindsTheBatchOfAnEvent) {
  const Epoch epoch = this->lease();
  std::map<std::int64_t, std::int64_t> expected;  // event -> batch
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    const Batch batch = next_batch(this->log_->head(), epoch, random() % 4);
    for (std::int64_t e = 0; e < batch.event_count; ++e) {
      expected[batch.first_event.value() + e] = batch.seq.value();
    }
    MUST(this->log_->append(epoch, {batch}));
  }
  for (const auto& [event, batch] : expected) {
    EXPECT_EQ(MUST(this->log_->find(EventSeq(event))).seq, BatchSeq(batch)) << event;
  }
  EXPECT_EQ(this->log_->find(this->log_->head().next_event).error().code, Errc::kNotFound);
}

TYPED_TEST(EventLogTest, RefusesAStaleEpoch) {
  const Epoch old = this->lease();
  this->append(1);
  const Epoch now = this->lease();
  EXPECT_GT(now, old);
  const Result<void> refused = this->log_->append(old, next_batches(*this->log_, old, 1));
  EXPECT_EQ(refused.error().code, Errc::kPrecondition);
  EXPECT_EQ(this->log_->append(Epoch(99), {}).error().code, Errc::kPrecondition);
  EXPECT_EQ(this->log_->save_snapshot(old, {BatchSeq(1), "{}"}).error().code, Errc::kPrecondition);
  EXPECT_EQ(this->log_->prune(old, BatchSeq(0)).error().code, Errc::kPrecondition);
  EXPECT_EQ(this->all().size(), 1U);
  this->append(1);
}

TYPED_TEST(EventLogTest, EpochsGrowOverOpenings) {
  Epoch last;
  for (int i = 0; i < 5; ++i) {
    const Epoch epoch = this->lease();
    EXPECT_GT(epoch, last);
    last = epoch;
    if (i % 2 == 0) this->append(1);
    this->reopen();
    EXPECT_EQ(this->log_->head().epoch, last);
  }
}

TYPED_TEST(EventLogTest, RefusesWhatDoesNotFollow) {
  this->append(3);
  const Batch good = next_batch(this->log_->head(), this->epoch_);
  std::vector<Batch> bad(4, good);
  bad[0].seq = BatchSeq(5);
  bad[1].seq = BatchSeq(3);
  bad[2].first_event = EventSeq(8);
  bad[3].epoch = Epoch(77);
  for (const Batch& batch : bad) {
    EXPECT_EQ(this->log_->append(this->epoch_, {batch}).error().code, Errc::kPrecondition);
    EXPECT_EQ(this->log_->append(this->epoch_, {good, batch}).error().code, Errc::kPrecondition);
  }
  EXPECT_EQ(this->all().size(), 3U);
  MUST(this->log_->append(this->epoch_, {good}));
}

TYPED_TEST(EventLogTest, RefusesABatchThatIsTooLarge) {
  this->append(1);
  Batch huge = next_batch(this->log_->head(), this->epoch_);
  huge.input = R"({"text":")" + std::string(64 << 20, 'x') + R"("})";
  const Error error = this->log_->append(this->epoch_, {huge}).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_FALSE(error.hint.empty());
  this->append(1);
}

TYPED_TEST(EventLogTest, ASnapshotComesBack) {
  this->append(5);
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(3), R"({"jobs":3})"}));
  EXPECT_EQ(MUST(this->log_->load_snapshot()), (Snapshot{BatchSeq(3), R"({"jobs":3})"}));
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(5), R"({"jobs":5})"}));
  this->reopen();
  EXPECT_EQ(MUST(this->log_->load_snapshot()), (Snapshot{BatchSeq(5), R"({"jobs":5})"}));
  EXPECT_EQ(MUST(this->log_->load_snapshot()), (Snapshot{BatchSeq(5), R"({"jobs":5})"}));
  EXPECT_EQ(this->log_->head().last, BatchSeq(5));
}

TYPED_TEST(EventLogTest, ASnapshotIsOfABatchThatIsThere) {
  this->append(2);
  EXPECT_EQ(this->log_->save_snapshot(this->epoch_, {BatchSeq(3), "{}"}).error().code,
            Errc::kPrecondition);
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(0), "{}"}));
  EXPECT_EQ(MUST(this->log_->load_snapshot())->through, BatchSeq(0));
}

TYPED_TEST(EventLogTest, PrunesOnlyWhatTwoSnapshotsCover) {
  this->append(10);
  EXPECT_EQ(this->log_->prune(this->epoch_, BatchSeq(1)).error().code, Errc::kPrecondition);
  EXPECT_EQ(this->log_->base().next_event, EventSeq(1));
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(4), "four"}));
  EXPECT_EQ(this->log_->prune(this->epoch_, BatchSeq(1)).error().code, Errc::kPrecondition);
  MUST(this->log_->save_snapshot(this->epoch_, {BatchSeq(8), "eight"}));
  EXPECT_EQ(this->log_->prune(this->epoch_, BatchSeq(5)).error().code, Errc::kPrecondition);
  const std::vector<Batch> before = this->all();
  MUST(this->log_->prune(this->epoch_, BatchSeq(4)));
  MUST(this->log_->prune(this->epoch_, BatchSeq(2)));  // Already gone.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(this->log_->base().last, BatchSeq(4));
    EXPECT_EQ(this->log_->base().next_event, EventSeq(9));
    EXPECT_EQ(this->log_->read(BatchSeq(3), 10).error().code, Errc::kGone);
    EXPECT_EQ(this->log_->find(EventSeq(8)).error().code, Errc::kGone);
    EXPECT_EQ(MUST(this->log_->find(EventSeq(9))).seq, BatchSeq(5));
    const std::vector<Batch> rest = MUST(this->log_->read(BatchSeq(4), 10));
    EXPECT_EQ(rest, std::vector<Batch>(before.begin() + 4, before.end()));
    this->reopen();
  }
  this->append(1);
  EXPECT_EQ(this->log_->head().last, BatchSeq(11));
}

TYPED_TEST(EventLogTest, TheArchiveFindsByKey) {
  this->archive({{"p/a", "1", "text a"}, {"p/b", "2", "text b"}});
  EXPECT_EQ(MUST(this->log_->archived("p/a")), (ArchiveEntry{"p/a", "1", "text a"}));
  const Error error = this->log_->archived("p/c").error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.value, "p/c");
  this->archive({{"p/a", "3", "newer"}});
  this->reopen();
  EXPECT_EQ(MUST(this->log_->archived("p/a")), (ArchiveEntry{"p/a", "3", "newer"}));
}

TYPED_TEST(EventLogTest, TheArchiveListsTheNewestFirst) {
  std::vector<ArchiveEntry> entries;
  for (int i = 0; i < 25; ++i) {
    const std::string number = std::to_string(100 + i / 2);  // Pairs share a sort key.
    entries.push_back({"key" + std::to_string(i), "p/" + number, "t"});
  }
  entries.push_back({"other", "q/1", "t"});
  this->archive(entries);
  entries.pop_back();
  std::sort(entries.begin(), entries.end(), [](const ArchiveEntry& a, const ArchiveEntry& b) {
    return std::pair(a.sort_key, a.key) > std::pair(b.sort_key, b.key);
  });
  std::vector<std::string> expected;
  for (const ArchiveEntry& entry : entries) expected.push_back(entry.key);
  for (const std::int64_t limit : {1, 2, 7, 24, 25, 26, 1000}) {
    EXPECT_EQ(this->listed({.sort_prefix = "p/", .limit = limit}), expected) << limit;
  }
  EXPECT_EQ(this->listed({.sort_prefix = "p/10"}).size(), 20U);
  EXPECT_EQ(this->listed({}).size(), 26U);
  EXPECT_EQ(this->listed({}).front(), "other");
  EXPECT_TRUE(this->listed({.sort_prefix = "z"}).empty());
}

TYPED_TEST(EventLogTest, APageTokenOutlivesItsEntry) {
  this->archive({{"a", "1", ""}, {"b", "2", ""}, {"c", "3", ""}});
  const ArchivePage page = MUST(this->log_->list_archive({.limit = 2}));
  ASSERT_EQ(page.entries.size(), 2U);
  this->archive({{"d", "4", ""}}, {"b"});
  EXPECT_EQ(this->listed({.page_token = page.next_token}), std::vector<std::string>{"a"});
}

TYPED_TEST(EventLogTest, RefusesAWrongPageToken) {
  for (const char* token : {"x", ":", "5", "5:abc", "-1:a", "99999999999999999999:a"}) {
    const Result<ArchivePage> page = this->log_->list_archive({.page_token = token});
    ASSERT_FALSE(page.ok()) << token;
    EXPECT_EQ(page.error().code, Errc::kInvalid);
  }
}

TYPED_TEST(EventLogTest, TheArchiveFindsKeysByPrefix) {
  this->archive({{"job-ab", "1", ""}, {"job-abc", "2", ""}, {"job-b", "3", ""}, {"jz", "4", ""}});
  using Keys = std::vector<std::string>;
  EXPECT_EQ(MUST(this->log_->archive_keys("job-a", 10)), (Keys{"job-ab", "job-abc"}));
  EXPECT_EQ(MUST(this->log_->archive_keys("job-a", 1)), (Keys{"job-ab"}));
  EXPECT_EQ(MUST(this->log_->archive_keys("", 10)).size(), 4U);
  EXPECT_EQ(MUST(this->log_->archive_keys("job-abc", 10)), (Keys{"job-abc"}));
  EXPECT_TRUE(MUST(this->log_->archive_keys("x", 10)).empty());
}

TYPED_TEST(EventLogTest, TheArchiveChangesWithTheAppend) {
  const Epoch epoch = this->lease();
  MUST(this->log_->append(epoch, next_batches(*this->log_, epoch, 1), {{{"a", "1", "x"}}, {}}));
  EXPECT_TRUE(this->log_->archived("a").ok());
  Batch bad = next_batch(this->log_->head(), epoch);
  bad.seq = BatchSeq(9);
  EXPECT_FALSE(this->log_->append(epoch, {bad}, {{{"b", "1", "x"}}, {"a"}}).ok());
  EXPECT_FALSE(this->log_->archived("b").ok());
  EXPECT_TRUE(this->log_->archived("a").ok());
  this->archive({}, {"a", "never there"});
  EXPECT_FALSE(this->log_->archived("a").ok());
}

TYPED_TEST(EventLogTest, KeepsTextExactly) {
  const Epoch epoch = this->lease();
  Batch batch = next_batch(this->log_->head(), epoch);
  batch.input = "{\"t\":\"\xc3\xa9\xf0\x9f\x98\x80\\u0000'\\\"\"}";
  MUST(this->log_->append(epoch, {batch}, {{{"k'\"", "s", "line\nline"}}, {}}));
  this->reopen();
  EXPECT_EQ(this->all().front().input, batch.input);
  EXPECT_EQ(MUST(this->log_->archived("k'\"")).text, "line\nline");
}

}  // namespace
}  // namespace runnel::store
