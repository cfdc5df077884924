#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "writing/overlay.h"

namespace runnel::writing {
namespace {

using volume::kRootInode;
using volume::NodeKind;

constexpr DataFile kOfStaging{DataFile::Kind::kStaging, 1};

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    apply(Based{"v0"});
    apply(Adopt{.inode = kRootInode, .kind = NodeKind::kFolder});
  }

  void apply(Change change) { apply(overlay_, std::move(change)); }
  void apply(Overlay& overlay, Change change) {
    LoggedRecord logged;
    logged.record.change = std::move(change);
    logged.sequence = ++sequence_;
    MUST(overlay.apply(logged));
  }
  void adopt(Inode inode, std::uint64_t size, Place place) {
    Adopt node{.inode = inode};
    node.places = {std::move(place)};
    node.size = size;
    node.modified = {1, 0};
    apply(node);
  }
  void adopt(Inode inode, std::uint64_t size) { adopt(inode, size, {kRootInode, "a"}); }
  void create(Inode inode) {
    Create file{.at = {kRootInode, std::to_string(inode)}, .inode = inode};
    file.when = {2, 0};
    apply(file);
  }
  void write(Inode inode, std::uint64_t offset, std::uint64_t length, std::uint64_t place) {
    apply(WriteStaged{.file = inode,
                      .offset = offset,
                      .length = length,
                      .place = {kOfStaging, place},
                      .when = {3, 0}});
  }
  void publish(std::uint64_t barrier) {
    apply(Barrier{barrier});
    apply(Published{barrier, "v" + std::to_string(barrier)});
  }

  // The overlay that the records make.
  Overlay again() {
    Overlay made;
    for (const Record& record : overlay_.checkpoint()) apply(made, record.change);
    return made;
  }
  // "0-10 base, 10-30 @1000, ": what is next to one of its kind is told as one.
  static std::string text(const std::vector<Range>& ranges) {
    std::string all;
    std::string last;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    for (const Range& range : ranges) {
      const bool is_data = range.source.kind == Source::Kind::kData;
      const std::string kind = range.source.kind == Source::Kind::kBase ? "base" : "zeros";
      const std::string what = is_data ? "@" + std::to_string(range.source.data.offset) : kind;
      if (what != last) {
        if (!last.empty()) all += describe(begin, end, last);
        begin = range.offset;
      }
      last = what;
      end = range.end();
    }
    return last.empty() ? all : all + describe(begin, end, last);
  }
  static std::string describe(std::uint64_t begin, std::uint64_t end, const std::string& what) {
    return std::to_string(begin) + "-" + std::to_string(end) + " " + what + ", ";
  }
  // That a file has the same bytes, now and committed.
  void expect_same(Inode inode) {
    const Overlay made = again();
    const Content& before = overlay_.find(inode)->content;
    ASSERT_NE(made.find(inode), nullptr);
    const Content& after = made.find(inode)->content;
    EXPECT_EQ(text(after.ranges(0, after.size())), text(before.ranges(0, before.size())));
    EXPECT_EQ(after.size(), before.size());
    ASSERT_EQ(after.is_committed(), before.is_committed());
    EXPECT_EQ(after.has_uncommitted(), before.has_uncommitted());
    if (!before.is_committed()) return;
    EXPECT_EQ(text(after.committed_ranges()), text(before.committed_ranges()));
    EXPECT_EQ(after.committed_size(), before.committed_size());
    EXPECT_EQ(made.find(inode)->committed, overlay_.find(inode)->committed);
    EXPECT_EQ(made.find(inode)->modified, overlay_.find(inode)->modified);
  }

  Overlay overlay_;
  Sequence sequence_ = 0;
};

TEST_F(CheckpointTest, AnEmptyOverlayIsItsBase) {
  const std::vector<Record> records = overlay_.checkpoint();
  ASSERT_EQ(records.size(), 3U) << "and the root, which is as it was";
  EXPECT_EQ(records.front().change, Change(Based{"v0"}));
  EXPECT_TRUE(Overlay().checkpoint().empty());
}

TEST_F(CheckpointTest, AFileWhoseAttributesWereChangedKeepsItsBytes) {
  adopt(2, 100);
  SetAttributes change{.inode = 2, .mode = 0600};
  change.when = {9, 0};
  apply(change);
  expect_same(2);
  const Overlay made = again();
  EXPECT_TRUE(made.find(2)->content.is_base());
  EXPECT_EQ(made.find(2)->mode, 0600U);
  EXPECT_EQ(made.find(2)->changed.seconds, 9);
  EXPECT_TRUE(made.has_to_publish());
}

TEST_F(CheckpointTest, WhatIsCommittedAndWhatIsNotStayApart) {
  adopt(2, 100);
  write(2, 10, 20, 1'000);
  expect_same(2);
  apply(Commit{2});
  expect_same(2);
  write(2, 20, 30, 2'000);
  write(2, 200, 10, 3'000);
  expect_same(2);
}

TEST_F(CheckpointTest, AFileThatWasCutAndGrewHasZerosThere) {
  adopt(2, 100);
  apply(Truncate{.file = 2, .size = 40, .when = {4, 0}});
  expect_same(2);
  apply(Truncate{.file = 2, .size = 120, .when = {5, 0}});
  expect_same(2);
  apply(Commit{2});
  write(2, 60, 10, 0);
  expect_same(2);
  apply(Truncate{.file = 2, .size = 0, .when = {6, 0}});
  expect_same(2);
  write(2, 30, 10, 500);
  expect_same(2);
}

TEST_F(CheckpointTest, AFileThatIsInNoVersionYetStaysSo) {
  create(2);
  write(2, 5, 10, 0);
  expect_same(2);
  EXPECT_FALSE(again().find(2)->is_in_version());
  apply(Commit{2});
  expect_same(2);
  EXPECT_TRUE(again().find(2)->is_new);
}

TEST_F(CheckpointTest, WhatWasPublishedIsNotPublishedAgainAsOther) {
  adopt(2, 50);
  write(2, 0, 10, 0);
  apply(Commit{2});
  apply(Barrier{1});
  write(2, 40, 20, 100);
  apply(Published{1, "v1"});
  expect_same(2);
  EXPECT_EQ(*again().base(), "v1");
}

TEST_F(CheckpointTest, NamesThatWentAndCameAreThere) {
  create(2);
  adopt(3, 10, {kRootInode, "old"});
  apply(Unlink{{kRootInode, "old"}, 3, {7, 0}});
  const Overlay made = again();
  const auto& names = made.find(kRootInode)->names;
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names.at("2").inode, 2U);
  EXPECT_EQ(names.at("old").inode, 0U);
  EXPECT_EQ(made.find(kRootInode)->modified.seconds, 7);
  EXPECT_FALSE(made.find(3)->has_name());
}

TEST_F(CheckpointTest, AnOpenFileWithoutANameReadsTheVersionThatHadIt) {
  adopt(2, 80);
  apply(Unlink{{kRootInode, "a"}, 2, {}});
  publish(1);
  expect_same(2);
  EXPECT_EQ(again().find(2)->bytes_of, "v0");
  EXPECT_TRUE(again().find(2)->is_new);
}

TEST_F(CheckpointTest, AFileThatIsToBeRemovedIsStillToBe) {
  adopt(2, 80);
  apply(Unlink{{kRootInode, "a"}, 2, {}});
  apply(Closed{2});
  const Overlay made = again();
  ASSERT_NE(made.find(2), nullptr);
  EXPECT_TRUE(made.find(2)->is_closed);
  EXPECT_FALSE(made.find(2)->is_new);
  EXPECT_TRUE(made.has_to_publish());
}

TEST_F(CheckpointTest, AFolderThatIsGoneMayHaveNamesThatAreGone) {
  Adopt folder{.inode = 2, .kind = NodeKind::kFolder};
  folder.places = {{kRootInode, "d"}};
  apply(folder);
  adopt(3, 0, {2, "a"});
  apply(Unlink{{2, "a"}, 3, {}});
  apply(Unlink{{kRootInode, "d"}, 2, {}});
  EXPECT_EQ(again().find(2)->names.size(), 1U);
}

}  // namespace
}  // namespace runnel::writing
