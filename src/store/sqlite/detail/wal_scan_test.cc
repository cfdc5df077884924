#include "store/sqlite/detail/wal_scan.h"

#include <random>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "store/sqlite/detail/database.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrame = 24 + 4096;

// A database whose write-ahead log holds `transactions` of one page each, as a crash leaves it.
class WalScan : public ::testing::Test {
 protected:
  void SetUp() override {
    Database database = MUST(Database::open(path_, Database::Mode::kCreate));
    MUST(database.text("PRAGMA journal_mode = WAL"));
    MUST(database.execute("PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a INTEGER, b TEXT)"));
    MUST(database.text("PRAGMA wal_checkpoint(TRUNCATE)"));
    for (int i = 0; i < kTransactions; ++i) MUST(database.execute("INSERT INTO t VALUES (1, 'x')"));
    wal_ = MUST(env::read_file(path_ + "-wal"));
    ASSERT_EQ(wal_.size(), kHeader + kTransactions * kFrame);
  }

  WalFindings scan(const std::string& wal) {
    MUST(env::write_file_atomically(path_ + "-copy", wal));
    return MUST(scan_wal(path_ + "-copy"));
  }

  std::string flipped(std::size_t at) const {
    std::string wal = wal_;
    wal[at] = static_cast<char>(wal[at] ^ 4);
    return wal;
  }

  static constexpr int kTransactions = 8;
  env::testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("t.db");
  std::string wal_;
};

TEST_F(WalScan, CountsTheCommittedFrames) {
  const WalFindings findings = scan(wal_);
  EXPECT_EQ(findings.committed_frames, kTransactions);
  EXPECT_EQ(findings.unfinished_frames, 0);
  EXPECT_EQ(findings.damage, "");
}

TEST_F(WalScan, NoFileAndAnEmptyFileAreFine) {
  EXPECT_EQ(MUST(scan_wal(folder_.file("absent"))).committed_frames, 0);
  EXPECT_EQ(scan("").damage, "");
}

TEST_F(WalScan, ACutFrameIsUnfinished) {
  for (const std::size_t cut : {std::size_t{1}, std::size_t{4000}, kFrame - 24}) {
    const WalFindings findings = scan(wal_.substr(0, wal_.size() - cut));
    EXPECT_EQ(findings.committed_frames, kTransactions - 1) << cut;
    EXPECT_EQ(findings.unfinished_frames, 1) << cut;
    EXPECT_EQ(findings.damage, "") << cut;
  }
}

TEST_F(WalScan, AWholeNumberOfTransactionsLooksComplete) {
  const WalFindings findings = scan(wal_.substr(0, kHeader + 3 * kFrame));
  EXPECT_EQ(findings.committed_frames, 3);
  EXPECT_EQ(findings.unfinished_frames, 0);
}

TEST_F(WalScan, DamageInTheLastTransactionCountsAsUnfinished) {
  const WalFindings findings = scan(flipped(wal_.size() - 100));
  EXPECT_EQ(findings.committed_frames, kTransactions - 1);
  EXPECT_EQ(findings.unfinished_frames, 1);
  EXPECT_EQ(findings.damage, "");
}

TEST_F(WalScan, EveryByteBeforeTheLastTransactionIsGuarded) {
  std::mt19937 random(1);
  const std::size_t last = wal_.size() - kFrame;
  for (int i = 0; i < 300; ++i) {
    std::size_t at = random() % last;
    // Where a bit of "this frame ends a transaction" flips, the next one seems to be its rest.
    const std::size_t in_frame = at < kHeader ? 0 : (at - kHeader) % kFrame;
    const bool second_to_last = at >= last - kFrame;
    if (second_to_last && in_frame >= 4 && in_frame < 8) continue;
    ASSERT_NE(scan(flipped(at)).damage, "") << at;
  }
}

TEST_F(WalScan, HeadersOfFramesAreGuardedInEveryField) {
  for (std::size_t at = 0; at < 24; ++at) {
    EXPECT_NE(scan(flipped(kHeader + 2 * kFrame + at)).damage, "") << at;
  }
  for (std::size_t at = 0; at < kHeader; ++at) EXPECT_NE(scan(flipped(at)).damage, "") << at;
}

TEST_F(WalScan, RemainsOfAnEarlierGenerationAreNotOurs) {
  // A log that was begun anew: its header and first frame are new, the rest is what was there.
  Database database = MUST(Database::open(path_, Database::Mode::kExisting));
  MUST(database.execute("INSERT INTO t VALUES (2, 'y')"));
  const std::string begun = MUST(env::read_file(path_ + "-wal"));
  ASSERT_EQ(begun.size(), kHeader + kFrame);
  const std::string wal = begun + wal_.substr(begun.size());
  const WalFindings findings = scan(wal);
  EXPECT_EQ(findings.committed_frames, 1);
  EXPECT_EQ(findings.unfinished_frames, 0);
  EXPECT_EQ(findings.damage, "");
}

TEST_F(WalScan, AnUnfinishedTransactionIsNoticed) {
  // Copies of a frame that ends nothing stand for what an interrupted writer left.
  std::string wal = wal_;
  std::string frame = wal_.substr(kHeader, kFrame);
  frame.replace(4, 4, std::string(4, '\0'));
  const WalFindings findings = scan(wal + frame + frame);
  EXPECT_EQ(findings.committed_frames, kTransactions);
  EXPECT_EQ(findings.unfinished_frames, 2);
  EXPECT_EQ(findings.damage, "");
}

}  // namespace
}  // namespace runnel::store::sqlite
