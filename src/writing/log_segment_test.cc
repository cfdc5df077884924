#include "writing/log_segment.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hash/sha256.h"
#include "writing/change.h"

namespace runnel::writing {
namespace {

constexpr std::uint64_t kNonce = 77;

SegmentHeader header() {
  SegmentHeader header;
  header.volume = "a-uuid";
  header.branch = "main";
  header.nonce = kNonce;
  header.size = 1 << 20;
  header.number = 3;
  header.before = 2;
  header.first = 10;
  header.previous = 5;
  return header;
}

// Frames behind a header, numbered from its first record on.
class Segment {
 public:
  Segment() { sum_ = header().previous; }

  Segment& add(const std::string& payload, Sequence durable = 0) {
    std::string frame;
    places_.push_back(bytes_.size());
    sum_ = append_frame(frame, kNonce, next_++, durable, sum_, payload);
    bytes_ += frame;
    return *this;
  }
  std::string& bytes() { return bytes_; }
  std::size_t place(std::size_t frame) const { return places_.at(frame); }
  // Good until the next read.
  SegmentFrames read() {
    whole_ = bytes_ + std::string(4'096, '\0');
    return read_frames(header(), whole_);
  }

 private:
  std::string bytes_ = std::string(kSegmentHeaderBytes, '\0');
  std::string whole_;
  std::vector<std::size_t> places_;
  Sequence next_ = header().first;
  std::uint64_t sum_ = 0;
};

std::string payloads(const SegmentFrames& read) {
  std::string all;
  for (const Frame& frame : read.frames) all += std::string(frame.payload) + " ";
  return all;
}

TEST(LogSegmentTest, AHeaderIsReadAsItWasWritten) {
  for (const bool begins_anew : {false, true}) {
    SegmentHeader written = header();
    written.begins_anew = begins_anew;
    const std::string bytes = encode_segment_header(written);
    EXPECT_EQ(bytes.size(), kSegmentHeaderBytes);
    EXPECT_EQ(MUST(decode_segment_header(bytes)), written);
  }
}

TEST(LogSegmentTest, AHeaderWithAnyBitChangedIsDamaged) {
  const std::string whole = encode_segment_header(header());
  const std::size_t used = whole.find_last_not_of('\0') + 1;
  for (std::size_t at = 0; at < used; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    const Result<SegmentHeader> read = decode_segment_header(bytes);
    ASSERT_FALSE(read.ok()) << at;
    EXPECT_EQ(read.error().code, Errc::kCorrupt) << at;
  }
  EXPECT_FALSE(decode_segment_header(whole.substr(0, used)).ok());
  EXPECT_FALSE(decode_segment_header("").ok());
}

TEST(LogSegmentTest, FramesAreReadInTheirOrder) {
  Segment segment;
  segment.add("one").add("").add(std::string(10'000, 'x')).add("four", 12);
  const SegmentFrames read = segment.read();
  ASSERT_EQ(read.frames.size(), 4U);
  EXPECT_EQ(read.frames[0].sequence, 10U);
  EXPECT_EQ(read.frames[3].sequence, 13U);
  EXPECT_EQ(read.frames[3].durable, 12U);
  EXPECT_EQ(read.frames[3].payload, "four");
  EXPECT_EQ(read.end, segment.bytes().size());
  EXPECT_EQ(read.lost, 0U);
  EXPECT_FALSE(read.damaged);
}

TEST(LogSegmentTest, CutAnywhereItHasTheFramesBefore) {
  Segment segment;
  segment.add("first").add("second").add("third");
  const std::string whole = segment.bytes();
  for (std::size_t at = 0; at <= whole.size(); ++at) {
    const SegmentFrames read = read_frames(header(), std::string_view(whole).substr(0, at));
    std::size_t expected = 0;
    for (std::size_t frame = 0; frame < 3; ++frame) {
      const std::size_t end = frame < 2 ? segment.place(frame + 1) : whole.size();
      const std::size_t payload = frame == 1 ? 6 : 5;
      if (at >= segment.place(frame) + kFrameHeadBytes + payload || at >= end) expected = frame + 1;
    }
    ASSERT_EQ(read.frames.size(), expected) << at;
    ASSERT_FALSE(read.damaged) << at;
  }
}

TEST(LogSegmentTest, WhatNobodyHadSyncedIsLostAndNotDamaged) {
  Segment segment;
  segment.add("one").add("two", 10).add("three", 10).add("four", 10);
  segment.bytes()[segment.place(1) + kFrameHeadBytes] ^= 1;
  const SegmentFrames read = segment.read();
  EXPECT_EQ(payloads(read), "one ");
  EXPECT_EQ(read.end, segment.place(1));
  EXPECT_EQ(read.lost, 2U);
  EXPECT_FALSE(read.damaged);
}

TEST(LogSegmentTest, WhatALaterFrameSaysWasSyncedIsDamaged) {
  Segment segment;
  segment.add("one").add("two", 10).add("three", 11);
  segment.bytes()[segment.place(1) + 4] ^= 1;  // Its length.
  const SegmentFrames read = segment.read();
  EXPECT_EQ(payloads(read), "one ");
  EXPECT_EQ(read.damaged, Sequence{11});
}

// An earlier life has left it, whose record before it was another one.
TEST(LogSegmentTest, AFrameThatDoesNotGoOnFromTheOneBeforeIsNotTaken) {
  Segment ours;
  ours.add("one").add("two");
  Segment other;
  other.add("uno").add("due");
  ours.bytes().replace(ours.place(1), std::string::npos, other.bytes().substr(other.place(1)));
  const SegmentFrames read = ours.read();
  EXPECT_EQ(payloads(read), "one ");
  EXPECT_EQ(read.lost, 1U);
}

TEST(LogSegmentTest, FramesOfAnotherLogAreNone) {
  Segment segment;
  segment.add("one");
  SegmentHeader other = header();
  other.nonce = kNonce + 1;
  EXPECT_TRUE(read_frames(other, segment.bytes()).frames.empty());
  other = header();
  other.first = 11;
  EXPECT_TRUE(read_frames(other, segment.bytes()).frames.empty()) << "nor of another number";
}

// The bytes of docs/design/write_log.md: who changes them changes the format's number.
TEST(LogSegmentTest, BytesOnTheDiskStay) {
  const std::string head = encode_segment_header(header());
  EXPECT_EQ(hash::hex(head.substr(0, 40)),
            "524e4c574c4f4731160000000106612d75756964046d61696e4d8080400302000a0553dd0e46f0b5");
  std::string frame;
  const Record record{.request = {1, 2}, .change = Commit{.file = 300}};
  append_frame(frame, kNonce, 10, 9, 5, encode_record(record));
  EXPECT_EQ(hash::hex(frame),
            "524e4c46050000000a0000000000000009000000000000000500000000000000"
            "34c52b4c2df79bcd6c55cd3e204c2ab40b0102ac02000000");
}

}  // namespace
}  // namespace runnel::writing
