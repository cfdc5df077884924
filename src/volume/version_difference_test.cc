#include "volume/version_difference.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "volume/testing/branch_writer.h"

namespace runnel::volume {
namespace {

using testing::BranchWriter;
using testing::Contents;
using testing::MemoryVolume;

class VersionDifferenceTest : public ::testing::Test {
 protected:
  BranchWriter begin() {
    data_.put({{"a/x", "1"}, {"a/deep/y", "2"}, {"b/z", "3"}, {"file", "4"}, {"empty/", ""}});
    return {data_, "test"};
  }
  // Of each path that differs, what has come to be of it.
  std::map<std::string, std::string> difference() {
    Snapshot before = data_.run(data_.volume().snapshot("latest"));
    writer_.publish();
    Snapshot after = data_.run(
        writer_.volume().pinned_snapshot(writer_.volume().session().session().record().pin));
    std::map<std::string, std::string> all;
    for (const auto& [path, change] : data_.run(difference_of(before, after, {}))) {
      all[path] = kind_of(change.before) + " -> " + kind_of(change.after);
    }
    return all;
  }
  static std::string kind_of(const std::optional<Snapshot::Found>& found) {
    if (!found) return "none";
    switch (found->node.kind) {
      case NodeKind::kFile: return "file";
      case NodeKind::kFolder: return "folder";
      case NodeKind::kLink: return "link";
    }
    return "";
  }

  using Expected = std::map<std::string, std::string>;
  MemoryVolume data_;
  BranchWriter writer_{begin()};
};

TEST_F(VersionDifferenceTest, TheSameVersionHasNone) { EXPECT_EQ(difference(), Expected()); }

TEST_F(VersionDifferenceTest, WhatHasCome) {
  writer_.write("new", "5");
  writer_.write("folder/one", "6");
  writer_.write("folder/below/two", "7");
  writer_.write("a/deep/three", "8");
  EXPECT_EQ(difference(), (Expected{{"a/deep/three", "none -> file"},
                                    {"folder", "none -> folder"},
                                    {"folder/below", "none -> folder"},
                                    {"folder/below/two", "none -> file"},
                                    {"folder/one", "none -> file"},
                                    {"new", "none -> file"}}));
}

TEST_F(VersionDifferenceTest, OfWhatIsGoneTheTopmost) {
  writer_.remove("a");
  writer_.remove("file");
  EXPECT_EQ(difference(), (Expected{{"a", "folder -> none"}, {"file", "file -> none"}}));
}

TEST_F(VersionDifferenceTest, WhatHasOtherBytesOrIsAnotherKind) {
  writer_.write("a/x", "changed");
  writer_.link("b", "a");
  writer_.link("file", "a/x");
  EXPECT_EQ(difference(),
            (Expected{{"a/x", "file -> file"}, {"b", "folder -> link"}, {"file", "file -> link"}}));
}

TEST_F(VersionDifferenceTest, WhatIsWrittenAsItWasIsTheSame) {
  writer_.write("a/x", "1");
  writer_.write("b/z", "3");
  EXPECT_EQ(difference(), Expected());
}

TEST(SameNode, ByKindBytesAndPermissions) {
  Node file;
  file.hash = hash::sha256("1");
  Node other = file;
  other.changed = 7;
  other.owner = 8;
  EXPECT_TRUE(is_same_node(file, other)) << "times and owners are not compared";
  other.mode = 0600;
  EXPECT_FALSE(is_same_node(file, other));
  other = file;
  other.hash = hash::sha256("2");
  EXPECT_FALSE(is_same_node(file, other));
  Node link;
  link.kind = NodeKind::kLink;
  link.target = "a";
  EXPECT_FALSE(is_same_node(file, link));
  Node elsewhere = link;
  elsewhere.target = "b";
  EXPECT_FALSE(is_same_node(link, elsewhere));
}

}  // namespace
}  // namespace runnel::volume
