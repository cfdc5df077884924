#include "volume/inode_edit.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::Contents;
using testing::MemoryVolume;

// Changes a version by numbers, and looks at what it has become by paths.
class InodeEditTest : public ::testing::Test {
 protected:
  void open() { base_.emplace(data_.run(data_.volume().snapshot("latest"))); }
  Inode inode(const std::string& path) { return data_.run(base_->at(path)).inode; }

  // The node as it is, with the folders above it.
  InodeEdit::Changed& take(const std::string& path) {
    std::string at = path;
    Inode above = 0;
    if (!path.empty()) {
      const std::size_t slash = path.rfind('/');
      at = slash == std::string::npos ? "" : path.substr(0, slash);
      take(at);
      above = inode(at);
    }
    const Snapshot::Found found = data_.run(base_->at(path));
    const auto [taken, is_new] = edit_.nodes.try_emplace(found.inode);
    InodeEdit::Changed& changed = taken->second;
    if (!is_new) return changed;
    changed.node = found.node;
    changed.above = above;
    changed.node->extents = data_.run(base_->extents(found.inode, found.node));
    return changed;
  }
  Inode make(Inode folder, const std::string& name, Node node) {
    const Inode made = next_++;
    edit_.names[{folder, name}] = Name{made, node.kind};
    edit_.nodes[made] = {std::move(node), folder};
    return made;
  }
  void remove(const std::string& folder, const std::string& name) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    take(folder);
    take(path).node.reset();
    edit_.names[{inode(folder), name}] = std::nullopt;
  }
  void move(const std::string& folder, const std::string& name, Inode to, const std::string& as) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    InodeEdit::Changed& moved = take(path);
    moved.above = to;
    edit_.names[{inode(folder), name}] = std::nullopt;
    edit_.names[{to, as}] = Name{inode(path), moved.node->kind};
  }
  Node file_like(const std::string& path) {
    Snapshot::Found found = data_.run(base_->at(path));
    found.node.extents = data_.run(base_->extents(found.inode, found.node));
    return std::move(found.node);
  }

  Result<EditedIndex> try_apply() {
    return data_.try_run(apply(*base_, data_.random(), edit_, {}));
  }
  // What is published of it.
  Manifest publish() {
    EditedIndex index = MUST(try_apply());
    Volume& volume = data_.volume();
    data_.run(volume.begin_writing(session_of_this_process("mount")));
    for (NewObject& bundle : index.bundles) {
      data_.run(volume.put_object(bundle_key(bundle.id), std::move(bundle.bytes)));
    }
    Manifest manifest = base_->manifest();
    manifest.parent = manifest.version;
    manifest.parent_key = volume.head().newest()->key;
    manifest.tree = index.tree;
    manifest.version = version_id(manifest.parent, manifest.tree);
    manifest.names = index.names;
    manifest.inodes = index.inodes;
    manifest.chunks = index.chunks;
    manifest.next_inode = index.next_inode;
    const std::int64_t packed = manifest.totals.packed;
    manifest.totals = index.totals;
    manifest.totals.packed = packed;
    EXPECT_TRUE(data_.run(volume.publish_manifest(manifest, volume.head().generation, false,
                                                  [] { return std::set<std::string>(); })));
    data_.run(volume.end_session());
    edit_ = {};
    open();
    return manifest;
  }
  // Whoever puts the same files gets the same tree.
  void expect_contents(const Contents& expected) {
    EXPECT_EQ(data_.contents(), expected);
    MemoryVolume other(data_.loop());
    other.put(expected);
    EXPECT_EQ(data_.newest().tree, other.newest().tree);
    const Totals& totals = data_.newest().totals;
    const Totals& wanted = other.newest().totals;
    EXPECT_EQ(totals.files, wanted.files);
    EXPECT_EQ(totals.folders, wanted.folders);
    EXPECT_EQ(totals.bytes, wanted.bytes);
  }

  MemoryVolume data_;
  std::optional<Snapshot> base_;
  InodeEdit edit_;
  Inode next_ = 1'000;
};

TEST_F(InodeEditTest, AFileGetsOtherBytesUnderItsNumber) {
  data_.put({{"a/one", "first"}, {"a/two", "second"}, {"b", "third"}});
  open();
  const Inode before = inode("a/one");
  const Node other = file_like("a/two");
  InodeEdit::Changed& changed = take("a/one");
  changed.node->extents = other.extents;
  changed.node->size = other.size;
  changed.node->hash = other.hash;
  publish();
  expect_contents({{"a/one", "second"}, {"a/two", "second"}, {"b", "third"}});
  EXPECT_EQ(inode("a/one"), before);
}

TEST_F(InodeEditTest, NamesComeAndGo) {
  data_.put({{"a/one", "1"}, {"a/b/two", "2"}, {"three", "3"}});
  open();
  const Node file = file_like("three");
  Node folder;
  folder.kind = NodeKind::kFolder;
  folder.mode = take("a").node->mode;
  const Inode made = make(kRootInode, "new", folder);
  make(made, "four", file);
  move("a/b", "two", made, "moved");
  remove("", "three");
  remove("a", "one");
  const Manifest manifest = publish();
  expect_contents({{"a/b/", ""}, {"new/four", "3"}, {"new/moved", "2"}});
  EXPECT_GT(manifest.next_inode, made);
}

TEST_F(InodeEditTest, AFolderIsMovedWithAllBelowIt) {
  data_.put({{"a/b/one", "1"}, {"a/b/c/two", "2"}, {"d/three", "3"}});
  open();
  take("d");
  const Inode file = inode("a/b/c/two");
  move("a", "b", inode("d"), "e");
  publish();
  expect_contents({{"a/", ""}, {"d/e/one", "1"}, {"d/e/c/two", "2"}, {"d/three", "3"}});
  EXPECT_EQ(inode("d/e/c/two"), file);
}

// Its extents are records of their own.
TEST_F(InodeEditTest, ALongFileBecomesShortAndLongAgain) {
  const std::string bytes = testing::noise(12'000'000, 3);
  data_.put({{"long", bytes}, {"short", "s"}});
  open();
  const Node whole = file_like("long");
  ASSERT_GT(whole.extents.size(), Node::kInlineExtentsMax);
  const Node short_one = file_like("short");
  take("long").node = short_one;
  publish();
  expect_contents({{"long", "s"}, {"short", "s"}});
  take("short").node = whole;
  publish();
  expect_contents({{"long", "s"}, {"short", bytes}});
}

// An edit that is made of a log whose base is another one.
TEST_F(InodeEditTest, WhatDoesNotFitIsRefused) {
  data_.put({{"a/one", "1"}, {"b/two", "2"}});
  open();
  EXPECT_EQ(try_apply().error().code, Errc::kCorrupt) << "without a root";
  take("a");
  edit_.nodes.erase(kRootInode);
  EXPECT_EQ(try_apply().error().code, Errc::kCorrupt) << "a folder in nothing";
  edit_ = {};
  take("a/one").node.reset();
  EXPECT_EQ(try_apply().error().code, Errc::kCorrupt) << "a name of what is gone";
  edit_ = {};
  take("a");
  take("b");
  edit_.names[{inode("a"), "b"}] = Name{inode("b"), NodeKind::kFolder};
  EXPECT_EQ(try_apply().error().code, Errc::kCorrupt) << "a folder in two places";
  edit_ = {};
  take("a").above = inode("b");
  take("b").above = inode("a");
  EXPECT_EQ(try_apply().error().code, Errc::kCorrupt) << "folders in a circle";
  edit_ = {};
  edit_.names[{kRootInode, "x"}] = Name{9'999, NodeKind::kFile};
  take("");
  EXPECT_FALSE(try_apply().ok()) << "a name of nothing";
}

}  // namespace
}  // namespace runnel::volume
