#include "store/sqlite/detail/head_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "store/sqlite/detail/open.h"

namespace runnel::store::sqlite {
namespace {

Head head_of(std::int64_t seq, char hash = 'a') {
  return {BatchSeq(seq), EventSeq(1), std::string(64, hash), Epoch(3)};
}

class HeadFileTest : public ::testing::Test {
 protected:
  env::testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("log");
};

TEST_F(HeadFileTest, SaysWhatWasNotedLast) {
  EXPECT_FALSE(noted_head(path_).has_value());
  HeadFile file = MUST(HeadFile::open(path_, Head()));
  EXPECT_FALSE(noted_head(path_).has_value()) << "there was no batch yet";
  file.note(head_of(123'456'789));
  file.note(head_of(7, 'b'));
  const std::optional<Head> noted = noted_head(path_);
  ASSERT_TRUE(noted.has_value());
  EXPECT_EQ(noted->last, BatchSeq(7));
  EXPECT_EQ(noted->epoch, Epoch(3));
  EXPECT_EQ(noted->hash, std::string(64, 'b'));
}

TEST_F(HeadFileTest, EveryFlippedBitIsSeen) {
  {
    (void)MUST(HeadFile::open(path_, head_of(5)));
  }
  const std::string text = MUST(env::read_file(head_path(path_)));
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    std::ofstream(head_path(path_)) << flipped;
    ASSERT_FALSE(noted_head(path_).has_value()) << bit;
  }
  for (std::size_t size = 0; size < text.size(); ++size) {
    std::ofstream(head_path(path_)) << text.substr(0, size);
    ASSERT_FALSE(noted_head(path_).has_value()) << size;
  }
}

TEST_F(HeadFileTest, WhatIsGarbledIsReplacedWhole) {
  MUST(env::write_file_atomically(head_path(path_), std::string(1'000, 'x')));
  {
    (void)MUST(HeadFile::open(path_, head_of(5)));
  }
  ASSERT_TRUE(noted_head(path_).has_value());
  EXPECT_EQ(noted_head(path_)->last, BatchSeq(5));
}

TEST_F(HeadFileTest, ANewBeginningSaysNothing) {
  {
    (void)MUST(HeadFile::open(path_, Head()));
  }
  EXPECT_TRUE(check_nothing_is_left(path_).ok()) << "a log that was being made";
  {
    (void)MUST(HeadFile::open(path_, head_of(5)));
  }
  EXPECT_EQ(check_nothing_is_left(path_).error().code, Errc::kCorrupt);
  std::ofstream(head_path(path_)) << "garbage";
  EXPECT_NE(check_nothing_is_left(path_).error().message.find("damaged"), std::string::npos);
}

// A log of the batches 3 to 5, of which what was before is pruned.
class ReachesTest : public HeadFileTest {
 protected:
  void SetUp() override {
    MUST(create_database(path_));
    opened_.emplace(MUST(open_existing(path_)));
    for (const std::int64_t seq : {3, 4, 5}) {
      Batch batch;
      batch.seq = BatchSeq(seq);
      batch.hash = std::string(64, 'a');
      MUST(opened_->tables.insert_batch(batch));
    }
  }
  Result<void> check(const Head& noted) {
    return check_reaches(opened_->tables, head_of(2), head_of(5), noted);
  }

  std::optional<OpenDatabase> opened_;
};

TEST_F(ReachesTest, ALogThatHoldsTheBatchIsFine) {
  for (const std::int64_t seq : {2, 3, 5}) EXPECT_TRUE(check(head_of(seq)).ok()) << seq;
  EXPECT_TRUE(check(head_of(1, 'b')).ok()) << "nothing can be said of what was pruned";
}

TEST_F(ReachesTest, ALogThatEndsBeforeItIsNot) {
  const Error error = check(head_of(6)).error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.message.find("ends at batch 5, and batch 6 was durable"), std::string::npos);
}

TEST_F(ReachesTest, ALogWithAnotherBatchThereIsNot) {
  for (const std::int64_t seq : {2, 4}) {
    const Result<void> checked = check(head_of(seq, 'b'));
    ASSERT_FALSE(checked.ok()) << seq;
    EXPECT_NE(checked.error().message.find("another log"), std::string::npos);
  }
}

}  // namespace
}  // namespace runnel::store::sqlite
