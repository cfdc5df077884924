#include "writing/change.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hash/sha256.h"
#include "writing/testing/random_record.h"

namespace runnel::writing {
namespace {

TEST(ChangeTest, EachIsReadAsItWasWritten) {
  SplitMix64 dice(1);
  std::vector<bool> seen(std::variant_size_v<Change>);
  for (int round = 0; round < 5'000; ++round) {
    const Record record = testing::random_record(dice);
    seen[record.change.index()] = true;
    ASSERT_EQ(MUST(decode_record(encode_record(record))), record) << record.change.index();
  }
  seen.back() = true;  // CheckpointEnd is the log's own.
  EXPECT_EQ(MUST(decode_record(encode_record({{}, CheckpointEnd{}}))),
            (Record{{}, CheckpointEnd{}}));
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true));
}

TEST(ChangeTest, WhatIsCutOrLongerIsNone) {
  SplitMix64 dice(2);
  for (int round = 0; round < 300; ++round) {
    const std::string text = encode_record(testing::random_record(dice));
    for (std::size_t end = 0; end < text.size(); ++end) {
      const auto read = decode_record(std::string_view(text).substr(0, end));
      ASSERT_FALSE(read.ok());
      EXPECT_EQ(read.error().code, Errc::kCorrupt);
    }
    EXPECT_FALSE(decode_record(text + '\0').ok());
  }
}

// They are in logs: a new one comes last.
TEST(ChangeTest, NumbersOfKindsStay) {
  const auto number = [](Change change) {
    return static_cast<int>(encode_record({.request = {}, .change = std::move(change)}).front());
  };
  EXPECT_EQ(number(Based{}), 0);
  EXPECT_EQ(number(Adopt{}), 1);
  EXPECT_EQ(number(AdoptName{}), 2);
  EXPECT_EQ(number(Create{}), 3);
  EXPECT_EQ(number(Write{}), 4);
  EXPECT_EQ(number(WriteStaged{}), 5);
  EXPECT_EQ(number(Truncate{}), 6);
  EXPECT_EQ(number(Rename{}), 7);
  EXPECT_EQ(number(Link{}), 8);
  EXPECT_EQ(number(Unlink{}), 9);
  EXPECT_EQ(number(SetAttributes{}), 10);
  EXPECT_EQ(number(Commit{}), 11);
  EXPECT_EQ(number(Closed{}), 12);
  EXPECT_EQ(number(Answered{}), 13);
  EXPECT_EQ(number(Barrier{}), 14);
  EXPECT_EQ(number(Publishing{}), 15);
  EXPECT_EQ(number(Published{}), 16);
  EXPECT_EQ(number(CheckpointEnd{}), 17);
}

TEST(ChangeTest, BytesOfEachKindStay) {
  const auto bytes = [](Change change) {
    return hash::hex(encode_record({.request = {1, 2}, .change = std::move(change)}));
  };
  const Moment when{.seconds = 3, .nanos = 4};
  EXPECT_EQ(bytes(Based{"v"}), "0001020176");
  Adopt adopted{.inode = 5, .mode = 0600, .owner = 7, .size = 8, .modified = when};
  adopted.places = {{6, "a"}, {6, "b"}};
  EXPECT_EQ(bytes(adopted), "010102050100800301070002060161060162080006040000000000");
  EXPECT_EQ(bytes(AdoptName{{5, "a"}, 6}), "02010205016106");
  Create made{.at = {5, "a"}, .inode = 6, .mode = 0644, .when = when};
  made.kind = volume::NodeKind::kLink;
  made.target = "to";
  EXPECT_EQ(bytes(made), "0301020501610603a403000002746f0604");
  EXPECT_EQ(bytes(Write{5, 6, when, "a"}), "040102050606040161");
  EXPECT_EQ(bytes(WriteStaged{5, 6, 7, {{DataFile::Kind::kStaging, 8}, 9}, when}),
            "0501020506070208090604");
  EXPECT_EQ(bytes(Truncate{5, 6, when}), "06010205060604");
  EXPECT_EQ(bytes(Rename{{5, "a"}, {6, "b"}, 7, 8, true, when}), "0701020501610601620708010604");
  EXPECT_EQ(bytes(Link{5, {6, "a"}, when}), "080102050601610604");
  EXPECT_EQ(bytes(Unlink{{6, "a"}, 5, when}), "090102060161050604");
  EXPECT_EQ(bytes(SetAttributes{5, 0600, std::nullopt, 7, std::nullopt, when, when}),
            "0a010205018003000107000106040604");
  EXPECT_EQ(bytes(Commit{5}), "0b010205");
  EXPECT_EQ(bytes(Closed{5}), "0c010205");
  EXPECT_EQ(bytes(Answered{5}), "0d010205");
  EXPECT_EQ(bytes(Barrier{5}), "0e010205");
  EXPECT_EQ(bytes(Publishing{5, "v"}), "0f0102050176");
  EXPECT_EQ(bytes(Published{5, "v"}), "100102050176");
}

TEST(ChangeTest, OneOfALaterBuildIsToldApartFromDamage) {
  const Error error = decode_record(std::string("\x7F\0\0", 3)).error();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_NE(error.message.find("kind 127"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace runnel::writing
