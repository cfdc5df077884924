#include "volume/read_ahead.h"

#include <gtest/gtest.h>

namespace runnel::volume {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;
constexpr std::uint64_t kRead = 128 << 10;
constexpr Inode kFile = 7;

class ReadAheadTest : public ::testing::Test {
 protected:
  // Reads [from, until) in order, and gives where the last advice ends.
  std::uint64_t read(std::uint64_t from, std::uint64_t until) {
    std::uint64_t end = 0;
    for (std::uint64_t offset = from; offset < until; offset += kRead) {
      const ReadAhead::Advice advice = ahead_.after_read(kFile, offset, kRead);
      EXPECT_FALSE(advice.jumped);
      if (advice.end == 0) continue;
      EXPECT_TRUE(end == 0 || advice.begin == end) << "nothing is told twice, or left out";
      end = advice.end;
      ++parts_;
    }
    return end;
  }

  ReadAhead ahead_{32 * kMebi};
  int parts_ = 0;
};

TEST_F(ReadAheadTest, GrowsForWhoReadsInSequence) {
  const ReadAhead::Advice first = ahead_.after_read(kFile, 0, kRead);
  EXPECT_EQ(first.begin, kRead);
  EXPECT_EQ(first.end, kRead + ReadAhead::kWindowMin);
  const std::uint64_t end = read(kRead, 200 * kMebi);
  EXPECT_GE(end, 223 * kMebi) << "three quarters of a window at least are ahead";
  EXPECT_LE(end, 232 * kMebi) << "a window at most is ahead";
  EXPECT_LE(parts_, 30) << "few and large parts";
}

TEST_F(ReadAheadTest, TellsNothingToWhoJumpsAbout) {
  for (const std::uint64_t place : {500, 20, 300, 900, 100}) {
    const ReadAhead::Advice advice = ahead_.after_read(kFile, place * kMebi, 4'096);
    EXPECT_EQ(advice.end, 0U);
  }
}

TEST_F(ReadAheadTest, BeginsAnewWhereAJumpGoesOn) {
  read(0, 4 * kMebi);
  EXPECT_TRUE(ahead_.after_read(kFile, 100 * kMebi, kRead).jumped);
  const ReadAhead::Advice next = ahead_.after_read(kFile, 100 * kMebi + kRead, kRead);
  EXPECT_FALSE(next.jumped);
  EXPECT_EQ(next.begin, 100 * kMebi + 2 * kRead);
  EXPECT_EQ(next.end, next.begin + ReadAhead::kWindowMin);
}

// What a slow reader is told goes before it is read: fetched again and again it would be many times
// what is read.
TEST_F(ReadAheadTest, TellsLessToWhomWhatWasToldIsLost) {
  const std::uint64_t end = read(0, 40 * kMebi);
  EXPECT_GE(end, 64 * kMebi);
  std::uint64_t told = 0;
  for (std::uint64_t place = 40 * kMebi; place < 80 * kMebi; place += 8 * kMebi) {
    const ReadAhead::Advice again = ahead_.tell_again(kFile, place);
    EXPECT_EQ(again.begin, place);
    told += std::max(read(place, place + 8 * kMebi), again.end) - place;
  }
  EXPECT_LE(told, 2 * 40 * kMebi);
  EXPECT_EQ(ahead_.tell_again(kFile + 1, 0).end, 0U) << "of a file that nobody reads in sequence";
}

TEST_F(ReadAheadTest, WhoHasPausedOnceHasWholeWindowsAgain) {
  read(0, 40 * kMebi);
  ahead_.tell_again(kFile, 40 * kMebi);
  EXPECT_LE(read(40 * kMebi, 80 * kMebi), 89 * kMebi);
  const std::uint64_t end = read(80 * kMebi, 400 * kMebi);
  EXPECT_GE(end, 423 * kMebi) << "three quarters of a whole window at least are ahead";
}

// As a kernel sends them, and a reader that skips a header or looks back.
TEST_F(ReadAheadTest, SmallStepsBothWaysAreASequence) {
  std::uint64_t end = read(0, 16 * kMebi);
  for (std::uint64_t offset = 16 * kMebi; offset < 64 * kMebi; offset += kMebi) {
    for (const std::uint64_t step : {kMebi / 2, std::uint64_t{0}, kMebi / 4}) {
      const ReadAhead::Advice advice = ahead_.after_read(kFile, offset + step, kRead);
      EXPECT_FALSE(advice.jumped);
      if (advice.end != 0) end = advice.end;
    }
  }
  EXPECT_GE(end, 64 * kMebi + 14 * kMebi);
}

TEST_F(ReadAheadTest, EachFileHasItsOwn) {
  read(0, 8 * kMebi);
  const ReadAhead::Advice other = ahead_.after_read(kFile + 1, 0, kRead);
  EXPECT_EQ(other.end, kRead + ReadAhead::kWindowMin);
  EXPECT_FALSE(other.jumped);
}

}  // namespace
}  // namespace runnel::volume
