#include "writing/version_edit.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace runnel::writing {
namespace {

using volume::kRootInode;
using volume::NodeKind;

// A branch over a version with the folder "a" (2), "a/file" (3) and "link" (4).
class VersionEditTest : public ::testing::Test {
 protected:
  VersionEditTest() {
    change(Based{"v1"});
    change(Adopt{.inode = kRootInode, .kind = NodeKind::kFolder, .mode = 0755});
    change(
        Adopt{.inode = 2, .kind = NodeKind::kFolder, .mode = 0750, .places = {{kRootInode, "a"}}});
    change(Adopt{
        .inode = 3, .kind = NodeKind::kFile, .mode = 0640, .places = {{2, "file"}}, .size = 9});
    change(Adopt{.inode = 4,
                 .kind = NodeKind::kLink,
                 .mode = 0777,
                 .places = {{kRootInode, "link"}},
                 .target = "a/file"});
  }
  void change(Change what) {
    LoggedRecord logged;
    logged.record.change = std::move(what);
    logged.sequence = ++sequence_;
    logged.end = {{DataFile::Kind::kSegment, 1}, sequence_ * 1'000};
    MUST(overlay_.apply(logged));
  }
  Moment now() { return {1'000 + static_cast<std::int64_t>(sequence_), 7}; }
  void create(Inode inode, const Place& at, NodeKind kind) {
    change(
        Create{.at = at, .inode = inode, .kind = kind, .mode = 0600, .target = "", .when = now()});
  }
  PublishedFiles files() {
    change(Barrier{1});
    return files_of(*overlay_.frozen());
  }
  // With a hash that tells whose content it is.
  volume::InodeEdit edit() {
    const PublishedFiles published = files();
    StoredContents contents;
    for (const auto* all : {&published.changed, &published.as_based}) {
      for (const Inode inode : *all) contents[inode].hash[0] = static_cast<std::uint8_t>(inode);
    }
    return edit_of(*overlay_.frozen(), std::move(contents));
  }

  Overlay overlay_;
  Sequence sequence_ = 0;
};

TEST_F(VersionEditTest, WhatWasOnlyAdoptedIsAsItWas) {
  const volume::InodeEdit made = edit();
  EXPECT_TRUE(made.names.empty());
  ASSERT_EQ(made.nodes.size(), 4U);
  EXPECT_EQ(made.nodes.at(kRootInode).above, 0U);
  EXPECT_EQ(made.nodes.at(2).above, kRootInode);
  EXPECT_EQ(made.nodes.at(2).node->mode, 0750U);
  EXPECT_EQ(made.nodes.at(3).node->size, 9U);
  EXPECT_EQ(made.nodes.at(3).node->hash[0], 3);
  EXPECT_EQ(made.nodes.at(3).above, 0U) << "a file may have several";
  EXPECT_EQ(made.nodes.at(4).node->target, "a/file");
}

TEST_F(VersionEditTest, OnlyBytesThatWereCommittedAreStored) {
  change(Write{3, 0, now(), "other"});
  EXPECT_EQ(files().as_based, std::vector<Inode>{3});
}

TEST_F(VersionEditTest, BytesThatWereCommittedAreStored) {
  change(Write{3, 0, now(), "other"});
  const Moment modified = now();
  change(Commit{3});
  change(Write{3, 0, now(), "later"});
  const volume::InodeEdit made = edit();
  EXPECT_EQ(files_of(*overlay_.frozen()).changed, std::vector<Inode>{3});
  EXPECT_LT(made.nodes.at(3).node->changed, modified.seconds + 1);
}

TEST_F(VersionEditTest, AFileThatWasNeverCommittedHasNoName) {
  create(10, {2, "draft"}, NodeKind::kFile);
  create(11, {2, "done"}, NodeKind::kFile);
  change(Commit{11});
  const volume::InodeEdit made = edit();
  EXPECT_FALSE(made.nodes.contains(10));
  EXPECT_EQ(made.names.at({2, "draft"}), std::nullopt);
  EXPECT_EQ(made.names.at({2, "done"}), (volume::Name{11, NodeKind::kFile}));
  EXPECT_TRUE(made.nodes.at(11).node.has_value());
}

TEST_F(VersionEditTest, WhatIsGoneGoesAndWhatNeverWasIsNot) {
  change(Unlink{{2, "file"}, 3, now()});
  create(10, {2, "short"}, NodeKind::kLink);
  change(Unlink{{2, "short"}, 10, now()});
  const volume::InodeEdit made = edit();
  EXPECT_EQ(made.nodes.at(3).node, std::nullopt);
  EXPECT_FALSE(made.nodes.contains(10));
  EXPECT_EQ(made.names.at({2, "file"}), std::nullopt);
}

TEST_F(VersionEditTest, AMovedFolderIsBelowAnother) {
  create(10, {kRootInode, "b"}, NodeKind::kFolder);
  change(Rename{.from = {kRootInode, "a"}, .to = {10, "a"}, .moved = 2, .when = now()});
  const volume::InodeEdit made = edit();
  EXPECT_EQ(made.nodes.at(2).above, 10U);
  EXPECT_EQ(made.names.at({kRootInode, "a"}), std::nullopt);
  EXPECT_EQ(made.names.at({10, "a"}), (volume::Name{2, NodeKind::kFolder}));
}

TEST_F(VersionEditTest, NamesOfAFileAreItsLinks) {
  change(Link{3, {kRootInode, "twin"}, now()});
  const volume::InodeEdit made = edit();
  EXPECT_EQ(made.nodes.at(3).node->links, 2U);
  EXPECT_EQ(made.names.at({kRootInode, "twin"}), (volume::Name{3, NodeKind::kFile}));
}

}  // namespace
}  // namespace runnel::writing
