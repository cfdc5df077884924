#include "library/path_walk.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "library/testing/read_volume.h"

namespace runnel::library {
namespace {

using testing::ReadVolume;
using testing::StoredVolume;
using volume::NodeKind;

class PathWalkTest : public ::testing::Test {
 protected:
  PathEnd walk(const std::string& path, LastLink last = LastLink::kFollow) {
    if (!read_) {
      stored_.put();
      read_.emplace(stored_);
    }
    return read_->run(walk_path(read_->snapshot(), path, last));
  }
  std::optional<Refusal> refusal(const std::string& path) { return walk(path).refusal; }
  // The bytes of the file that a path leads to; none: it is refused, or leads to something else.
  std::optional<std::uint64_t> size(const std::string& path) {
    const PathEnd end = walk(path);
    const bool is_file = !end.refusal && end.found.node.kind == NodeKind::kFile;
    return is_file ? std::optional(end.found.node.size) : std::nullopt;
  }

  StoredVolume stored_;
  std::optional<ReadVolume> read_;
};

TEST_F(PathWalkTest, TheRootHasManyNames) {
  stored_.write("a/file", "1");
  for (const char* path : {"", "/", "//", ".", "./", "a/..", "a/./.."}) {
    const PathEnd end = walk(path);
    ASSERT_FALSE(end.refusal) << path;
    EXPECT_EQ(end.found.inode, volume::kRootInode) << path;
    EXPECT_EQ(end.found.node.kind, NodeKind::kFolder) << path;
  }
}

TEST_F(PathWalkTest, SlashesAndDotsChangeNothing) {
  stored_.write("a/b/file", "123");
  for (const char* path : {"a/b/file", "/a/b/file", "a//b/./file", "a/b/../b/file", "./a/b/file"}) {
    EXPECT_EQ(size(path), 3U) << path;
  }
}

TEST_F(PathWalkTest, AFileIsNoFolder) {
  stored_.write("file", "1");
  stored_.link("file", "link");
  for (const char* path : {"file/x", "file/.", "file/..", "link/x", "link/../file"}) {
    EXPECT_EQ(refusal(path), Refusal::kNotAFolder) << path;
  }
}

TEST_F(PathWalkTest, LinksAreFollowedFromWhereTheyAre) {
  stored_.write("a/b/file", "123");
  stored_.write("file", "1");
  stored_.link("file", "a/b/near");       // Beside it.
  stored_.link("../../file", "a/b/top");  // In the root.
  stored_.link("a", "to_a");
  stored_.link("to_a/b", "to_b");
  EXPECT_EQ(size("a/b/near"), 3U);
  EXPECT_EQ(size("a/b/top"), 1U);
  EXPECT_EQ(size("to_b/near"), 3U);
  EXPECT_EQ(size("to_b/../../file"), 1U) << "'..' leaves the folder that the link leads to";
}

TEST_F(PathWalkTest, TheLastLinkMayBeAskedForItself) {
  stored_.write("a/file", "123");
  stored_.link("file", "a/link");
  stored_.link("a", "folder");
  const PathEnd itself = walk("folder/link", LastLink::kStay);
  ASSERT_FALSE(itself.refusal);
  EXPECT_EQ(itself.found.node.kind, NodeKind::kLink);
  EXPECT_EQ(itself.found.node.target, "file");
  EXPECT_EQ(walk("folder", LastLink::kStay).found.node.kind, NodeKind::kLink);
  EXPECT_EQ(walk("folder/.", LastLink::kStay).found.node.kind, NodeKind::kFolder);
}

TEST_F(PathWalkTest, NothingLeadsOut) {
  stored_.write("a/file", "1");
  stored_.link("/a/file", "absolute");
  stored_.link("../../a/file", "a/up");
  stored_.link("..", "a/parent");
  for (const char* path : {"..", "../a/file", "a/../../a/file", "absolute", "a/up"}) {
    EXPECT_EQ(refusal(path), Refusal::kLeadsOut) << path;
  }
  EXPECT_EQ(size("a/parent/a/file"), 1U);
  EXPECT_EQ(refusal("a/parent/.."), Refusal::kLeadsOut);
}

TEST_F(PathWalkTest, FollowsFortyLinksAndNoMore) {
  stored_.write("0", "1");
  for (int number = 1; number <= kLinksMax + 1; ++number) {
    stored_.link(std::to_string(number - 1), std::to_string(number));
  }
  stored_.link("circle", "circle");
  EXPECT_EQ(size(std::to_string(kLinksMax)), 1U);
  EXPECT_EQ(refusal(std::to_string(kLinksMax + 1)), Refusal::kTooManyLinks);
  EXPECT_EQ(refusal("circle"), Refusal::kTooManyLinks);
  EXPECT_EQ(refusal("circle/x"), Refusal::kTooManyLinks);
}

TEST_F(PathWalkTest, TellsWhatIsMissing) {
  stored_.write("a/file", "1");
  stored_.link("none", "broken");
  for (const char* path : {"none", "a/none", "none/file", "broken", "broken/x", "A/file"}) {
    EXPECT_EQ(refusal(path), Refusal::kNoSuchPath) << path;
  }
  EXPECT_EQ(refusal("a/" + std::string(kNameBytesMax, 'n')), Refusal::kNoSuchPath);
  EXPECT_EQ(refusal("a/" + std::string(kNameBytesMax + 1, 'n')), Refusal::kNameTooLong);
}

}  // namespace
}  // namespace runnel::library
