#include "store/memory/memory_log.h"

#include <gtest/gtest.h>

#include "store/testing/batches.h"

namespace runnel::store {
namespace {

using testing::next_batches;

class MemoryLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reopen();
    epoch_ = MUST(log_->acquire_lease());
    MUST(append(2));
  }

  void reopen() { log_ = MUST(open_memory_log(storage_)); }
  Result<void> append(std::int64_t count) {
    return log_->append(epoch_, next_batches(*log_, epoch_, count));
  }

  std::shared_ptr<MemoryStorage> storage_ = std::make_shared<MemoryStorage>();
  std::unique_ptr<EventLog> log_;
  Epoch epoch_;
};

TEST_F(MemoryLogTest, WhenFullNothingIsKeptAndItGoesOn) {
  storage_->next_append = AppendFault::kFull;
  EXPECT_EQ(append(3).error().code, Errc::kFull);
  EXPECT_EQ(log_->head().last, BatchSeq(2));
  MUST(append(1));
  EXPECT_EQ(log_->head().last, BatchSeq(3));
}

TEST_F(MemoryLogTest, AfterAnErrorItMustBeOpenedAnew) {
  storage_->next_append = AppendFault::kIo;
  storage_->next_error = Error(Errc::kIo, "the cable is out");
  EXPECT_EQ(append(1).error().message, "the cable is out");
  EXPECT_EQ(append(1).error().code, Errc::kIo);
  reopen();
  EXPECT_EQ(log_->head().last, BatchSeq(2));
  MUST(append(1));
}

TEST_F(MemoryLogTest, ATornAppendIsDroppedWithANotice) {
  storage_->next_append = AppendFault::kTorn;
  EXPECT_EQ(append(2).error().code, Errc::kIo);
  reopen();
  EXPECT_EQ(log_->open_report().notices.size(), 1U);
  EXPECT_EQ(log_->head().last, BatchSeq(2));
  MUST(append(1));
  reopen();
  EXPECT_TRUE(log_->open_report().notices.empty());
}

TEST_F(MemoryLogTest, AnAppendThatFailedMayBeKeptWhole) {
  storage_->next_append = AppendFault::kKept;
  const ArchiveEntry entry{"job", "sort", "record"};
  const Result<void> appended =
      log_->append(epoch_, next_batches(*log_, epoch_, 2), ArchiveChange{{entry}, {}});
  EXPECT_EQ(appended.error().code, Errc::kIo);
  EXPECT_EQ(log_->head().last, BatchSeq(2));
  EXPECT_EQ(append(1).error().code, Errc::kIo);
  reopen();
  EXPECT_TRUE(log_->open_report().notices.empty());
  EXPECT_EQ(log_->head().last, BatchSeq(4));
  EXPECT_TRUE(log_->archived("job").ok());
  MUST(append(1));
}

TEST_F(MemoryLogTest, DamageNamesTheBatch) {
  storage_->batches.at(2).input = "{}";
  const Error error = open_memory_log(storage_).error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_EQ(error.value, "2");
  storage_->batches.erase(1);
  EXPECT_EQ(open_memory_log(storage_).error().value, "1");
}

TEST_F(MemoryLogTest, PassesOverADamagedSnapshot) {
  MUST(log_->save_snapshot(epoch_, {BatchSeq(1), "one"}));
  MUST(log_->save_snapshot(epoch_, {BatchSeq(2), "two"}));
  storage_->snapshots.at(2).damaged = true;
  EXPECT_EQ(MUST(log_->load_snapshot())->text, "one");
  storage_->snapshots.at(1).damaged = true;
  EXPECT_EQ(MUST(log_->load_snapshot()), std::nullopt);
}

}  // namespace
}  // namespace runnel::store
