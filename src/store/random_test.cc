#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "env/testing/manual_clock.h"
#include "env/testing/temporary_directory.h"
#include "store/memory/memory_log.h"
#include "store/sqlite/fsck.h"
#include "store/sqlite/sqlite_log.h"
#include "store/testing/batches.h"

// Random operations on the log in SQLite and on the one in memory, which is simple enough to be the
// model: both must always say the same.
namespace runnel::store {
namespace {

class TwoLogs {
 public:
  explicit TwoLogs(unsigned seed) : random_(seed) { reopen(); }

  void step();
  void compare_all();

 private:
  void reopen();
  void acquire();
  void append();
  void snapshot();
  void prune();
  void compare_reads();
  void compare_archive();

  std::int64_t pick(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  std::string key() { return "p" + std::to_string(pick(3)) + "/j" + std::to_string(pick(12)); }
  ArchiveChange archive_change();

  // Runs one call on both logs and expects the same outcome.
  template <typename Call>
  void on_both(Call call) {
    const auto a = call(*sqlite_);
    const auto b = call(*memory_);
    ASSERT_EQ(a.ok(), b.ok()) << (a.ok() ? b.error() : a.error()).to_string();
    if (!a.ok()) {
      ASSERT_EQ(a.error(), b.error());
    } else if constexpr (!std::is_void_v<typename decltype(a)::ValueType>) {
      ASSERT_EQ(a.value(), b.value());
    }
  }

  std::mt19937_64 random_;
  env::testing::TemporaryDirectory folder_;
  env::testing::ManualClock clock_;
  std::shared_ptr<MemoryStorage> storage_ = std::make_shared<MemoryStorage>();
  std::unique_ptr<EventLog> sqlite_;
  std::unique_ptr<EventLog> memory_;
  Epoch epoch_;
  Epoch stale_;
};

void TwoLogs::reopen() {
  sqlite_.reset();
  memory_.reset();
  sqlite_ = MUST(open_sqlite_log(folder_.file("log.db"), clock_));
  memory_ = MUST(open_memory_log(storage_));
}

void TwoLogs::acquire() {
  stale_ = epoch_;
  on_both([](EventLog& log) { return log.acquire_lease(); });
  epoch_ = memory_->head().epoch;
}

ArchiveChange TwoLogs::archive_change() {
  ArchiveChange change;
  for (std::int64_t count = pick(3); count > 0; --count) {
    change.put.push_back({key(), "s" + std::to_string(pick(8)), "t" + std::to_string(pick(99))});
  }
  if (pick(4) == 0) change.remove.push_back(key());
  return change;
}

void TwoLogs::append() {
  const Epoch epoch = pick(12) == 0 ? stale_ : epoch_;
  std::vector<Batch> batches;
  Head head = memory_->head();
  for (std::int64_t count = pick(4); count > 0; --count) {
    batches.push_back(testing::next_batch(head, epoch, pick(4)));
    head.last = batches.back().seq;
    head.next_event = batches.back().next_event();
    if (pick(20) == 0) head.last = BatchSeq(head.last.value() + 1);  // A gap, to be refused.
  }
  const ArchiveChange change = archive_change();
  on_both([&](EventLog& log) { return log.append(epoch, batches, change); });
}

void TwoLogs::snapshot() {
  const std::int64_t last = memory_->head().last.value();
  const Snapshot snapshot{BatchSeq(last - pick(3) + 1), "state " + std::to_string(last)};
  if (snapshot.through < BatchSeq()) return;
  on_both([&](EventLog& log) { return log.save_snapshot(epoch_, snapshot); });
}

void TwoLogs::prune() {
  const BatchSeq through(pick(memory_->head().last.value() + 1));
  on_both([&](EventLog& log) { return log.prune(epoch_, through); });
}

void TwoLogs::compare_reads() {
  const BatchSeq after(pick(memory_->head().last.value() + 2));
  const std::int64_t limit = pick(6);
  on_both([&](EventLog& log) { return log.read(after, limit); });
  const EventSeq event(1 + pick(memory_->head().next_event.value() + 1));
  on_both([&](EventLog& log) { return log.find(event); });
}

void TwoLogs::compare_archive() {
  const std::string some_key = key();
  on_both([&](EventLog& log) { return log.archived(some_key); });
  const std::string prefix = some_key.substr(0, static_cast<std::size_t>(pick(6)));
  const std::int64_t limit = 1 + pick(5);
  on_both([&](EventLog& log) { return log.archive_keys(prefix, limit); });
  ArchiveQuery query{.sort_prefix = pick(2) == 0 ? "" : "s" + std::to_string(pick(8)),
                     .limit = limit};
  do {
    const ArchivePage a = MUST(sqlite_->list_archive(query));
    const ArchivePage b = MUST(memory_->list_archive(query));
    ASSERT_EQ(a.entries, b.entries);
    ASSERT_EQ(a.next_token, b.next_token);
    query.page_token = a.next_token;
  } while (!query.page_token.empty());
}

void TwoLogs::compare_all() {
  ASSERT_EQ(sqlite_->head(), memory_->head());
  on_both([](EventLog& log) { return log.load_snapshot(); });
  compare_reads();
  compare_archive();
}

void TwoLogs::step() {
  switch (pick(12)) {
    case 0: reopen(); break;
    case 1: acquire(); break;
    case 2:
    case 3: snapshot(); break;
    case 4: prune(); break;
    default: append(); break;
  }
}

class RandomOperations : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomOperations, BothLogsSayTheSame) {
  TwoLogs logs(GetParam());
  for (int i = 0; i < 150; ++i) {
    ASSERT_NO_FATAL_FAILURE(logs.step()) << "step " << i;
    ASSERT_NO_FATAL_FAILURE(logs.compare_all()) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperations, ::testing::Range(0U, 6U));

}  // namespace
}  // namespace runnel::store
