#include "writing/content.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/split_mix.h"

namespace runnel::writing {
namespace {

constexpr DataFile kOfLog{DataFile::Kind::kSegment, 1};
constexpr DataFile kStaged{DataFile::Kind::kStaging, 7};

// "0-10 base, 10-15 data@100, 15-20 zeros".
std::string text(const std::vector<Range>& ranges) {
  std::string all;
  for (const Range& range : ranges) {
    if (!all.empty()) all += ", ";
    all += std::to_string(range.offset) + "-" + std::to_string(range.end());
    switch (range.source.kind) {
      case Source::Kind::kBase: all += " base"; break;
      case Source::Kind::kZeros: all += " zeros"; break;
      case Source::Kind::kData: all += " data@" + std::to_string(range.source.data.offset); break;
    }
  }
  return all;
}
// A number for each byte, as the test below has them.
std::vector<std::uint64_t> bytes_of(const std::vector<Range>& ranges) {
  std::vector<std::uint64_t> bytes;
  for (const Range& range : ranges) {
    EXPECT_EQ(range.offset, bytes.size());
    for (std::uint64_t byte = 0; byte < range.length; ++byte) {
      const bool is_data = range.source.kind == Source::Kind::kData;
      const std::uint64_t other = range.source.kind == Source::Kind::kBase ? 1 : 0;
      bytes.push_back(is_data ? range.source.data.offset + byte : other);
    }
  }
  return bytes;
}
std::string text(const Content& content) { return text(content.ranges(0, content.size())); }

TEST(ContentTest, AWriteTakesThePlaceOfWhatItCovers) {
  Content content = Content::of_base(100);
  EXPECT_TRUE(content.is_base());
  content.write(10, 20, {kOfLog, 1'000}, 1);
  content.write(25, 10, {kOfLog, 2'000}, 2);
  EXPECT_EQ(text(content), "0-10 base, 10-25 data@1000, 25-35 data@2000, 35-100 base");
  content.write(15, 2, {kOfLog, 3'000}, 3);
  EXPECT_EQ(text(content.ranges(12, 27)),
            "12-15 data@1002, 15-17 data@3000, 17-25 data@1007, 25-27 data@2000");
  EXPECT_FALSE(content.is_base());
}

TEST(ContentTest, WhatIsBehindTheEndIsZeros) {
  Content content;
  EXPECT_FALSE(content.is_committed());
  content.write(10, 5, {kOfLog, 0}, 1);
  EXPECT_EQ(text(content), "0-10 zeros, 10-15 data@0");
  content.truncate(30, 2);
  content.truncate(12, 3);
  content.truncate(14, 4);
  EXPECT_EQ(text(content), "0-10 zeros, 10-12 data@0, 12-14 zeros");
  EXPECT_TRUE(content.ranges(14, 20).empty());
}

TEST(ContentTest, BytesThatWereCutAreNotTheBasesAgain) {
  Content content = Content::of_base(100);
  content.truncate(40, 1);
  content.truncate(100, 2);
  EXPECT_EQ(text(content), "0-40 base, 40-100 zeros");
}

TEST(ContentTest, StagedBytesThatGoOnAreOneRange) {
  Content content;
  content.write(0, 10, {kStaged, 50}, 1);
  content.write(10, 10, {kStaged, 60}, 2);
  EXPECT_EQ(text(content), "0-20 data@50");
  content.commit(3);
  content.write(20, 10, {kStaged, 70}, 4);
  EXPECT_EQ(text(content.uncommitted_ranges()), "20-30 data@70") << "not of what was committed";
}

TEST(ContentTest, AVersionGetsWhatWasCommitted) {
  Content content = Content::of_base(50);
  content.write(0, 10, {kOfLog, 100}, 1);
  EXPECT_EQ(text(content.committed_ranges()), "0-10 base, 10-50 base");
  content.commit(2);
  content.write(5, 10, {kOfLog, 200}, 3);
  content.write(6, 2, {kOfLog, 300}, 4);
  content.truncate(20, 5);
  content.truncate(80, 6);
  EXPECT_EQ(text(content),
            "0-5 data@100, 5-6 data@200, 6-8 data@300, 8-15 data@203, 15-20 base, "
            "20-80 zeros");
  EXPECT_EQ(text(content.committed_ranges()),
            "0-5 data@100, 5-10 data@105, 10-15 base, 15-20 "
            "base, 20-50 base");
  EXPECT_EQ(content.committed_size(), 50U);
  EXPECT_TRUE(content.has_uncommitted());
  content.commit(7);
  EXPECT_FALSE(content.has_uncommitted());
  EXPECT_EQ(text(content.committed_ranges()), text(content));
}

TEST(ContentTest, WhatWasPublishedIsTheBases) {
  Content content = Content::of_base(50);
  content.write(10, 10, {kOfLog, 100}, 1);
  content.commit(2);
  content.write(15, 10, {kOfLog, 200}, 3);
  content.become_base(2);
  EXPECT_EQ(text(content), "0-15 base, 15-25 data@200, 25-50 base");
  EXPECT_EQ(text(content.committed_ranges()), "0-15 base, 15-25 base, 25-50 base");
  EXPECT_FALSE(content.is_base());
  content.commit(4);
  EXPECT_FALSE(content.is_base()) << "it is still to be published";
  content.become_base(4);
  EXPECT_TRUE(content.is_base());
  EXPECT_EQ(text(content), "0-50 base");
}

TEST(ContentTest, AFileThatWasEmptiedIsNotTheBases) {
  Content content = Content::of_base(5);
  content.truncate(0, 1);
  content.commit(2);
  EXPECT_FALSE(content.is_base());
  content.become_base(2);
  EXPECT_TRUE(content.is_base());
}

// Each range is told once, without a gap, and by the shortest way that is no copy of every byte.
TEST(ContentTest, DoesWhatTwoRowsOfBytesDo) {
  SplitMix64 dice(5);
  for (int round = 0; round < 50; ++round) {
    Content content = Content::of_base(100);
    std::vector<std::uint64_t> now(100, 1);  // 1: the base's, 0: zeros, else what was written.
    std::vector<std::uint64_t> committed = now;
    for (Sequence by = 1; by < 60; ++by) {
      const std::uint64_t at = dice.next() % 150;
      const std::uint64_t length = 1 + dice.next() % 40;
      switch (dice.next() % 5) {
        case 0:
          content.truncate(at, by);
          now.resize(at, 0);
          break;
        case 1:
          content.commit(by);
          committed = now;
          break;
        default:
          content.write(at, length, {kOfLog, by * 1'000}, by);
          now.resize(std::max<std::size_t>(now.size(), at + length), 0);
          for (std::uint64_t byte = 0; byte < length; ++byte) now[at + byte] = by * 1'000 + byte;
      }
      ASSERT_EQ(bytes_of(content.ranges(0, content.size())), now) << round << " " << by;
      ASSERT_EQ(bytes_of(content.committed_ranges()), committed) << round << " " << by;
      ASSERT_EQ(content.size(), now.size());
      ASSERT_EQ(content.committed_size(), committed.size());
    }
  }
}

TEST(ContentTest, FilesOfBytesAreThoseOfTheLastCommitToo) {
  Content content;
  content.write(0, 10, {kOfLog, 0}, 1);
  content.commit(2);
  content.write(0, 10, {kStaged, 0}, 3);
  std::set<DataFile> files;
  content.add_files(files);
  EXPECT_EQ(files, (std::set<DataFile>{kOfLog, kStaged}));
}

}  // namespace
}  // namespace runnel::writing
