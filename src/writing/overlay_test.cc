#include "writing/overlay.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::writing {
namespace {

using volume::kRootInode;
using volume::NodeKind;

class OverlayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MUST(apply(Based{"v0"}));
    Adopt root{.inode = kRootInode, .kind = NodeKind::kFolder};
    root.mode = 0755;
    MUST(apply(root));
  }
  Result<void> apply(Change change, RequestId request = {}) {
    LoggedRecord logged;
    logged.record = {.request = request, .change = std::move(change)};
    logged.sequence = ++sequence_;
    logged.end = {.file = {DataFile::Kind::kSegment, 1}, .offset = sequence_ * 1'000};
    return overlay_.apply(logged);
  }
  static Create create(const std::string& name, Inode inode, NodeKind kind = NodeKind::kFile) {
    Create made{.at = {kRootInode, name}, .inode = inode, .kind = kind};
    made.mode = 0644;
    return made;
  }
  static Write write(Inode inode, const std::string& bytes) {
    return {.file = inode, .offset = 0, .when = {5, 0}, .bytes = bytes};
  }
  // Of the root's name.
  static Adopt adopted(Inode inode, const std::string& name, std::uint64_t size = 0) {
    Adopt node{.inode = inode};
    node.places = {{kRootInode, name}};
    node.size = size;
    return node;
  }
  void adopt_root() {
    if (overlay_.find(kRootInode) != nullptr) return;
    MUST(apply(Adopt{.inode = kRootInode, .kind = NodeKind::kFolder}));
  }
  void publish(std::uint64_t barrier) {
    MUST(apply(Barrier{barrier}));
    MUST(apply(Published{barrier, "v" + std::to_string(barrier)}));
  }
  std::string refusal(Change change) {
    const std::size_t nodes = overlay_.nodes().size();
    const Result<void> applied = apply(std::move(change));
    EXPECT_EQ(overlay_.nodes().size(), nodes);
    if (applied.ok()) return "applied";
    EXPECT_EQ(applied.error().code, Errc::kCorrupt);
    return applied.error().message.substr(applied.error().message.find("log") + 4);
  }

  Overlay overlay_;
  Sequence sequence_ = 0;
};

TEST_F(OverlayTest, AFileIsInAVersionOnceItWasCommitted) {
  MUST(apply(create("a", 2)));
  MUST(apply(write(2, "bytes")));
  EXPECT_FALSE(overlay_.find(2)->is_in_version());
  publish(1);
  ASSERT_NE(overlay_.find(2), nullptr) << "it is still nowhere else";
  EXPECT_TRUE(overlay_.find(2)->is_new);
  EXPECT_EQ(overlay_.find(kRootInode)->names.at("a").inode, 2U);
  MUST(apply(Commit{2}));
  EXPECT_TRUE(overlay_.has_to_publish());
  publish(2);
  EXPECT_EQ(overlay_.find(2), nullptr);
  EXPECT_TRUE(overlay_.nodes().empty());
  EXPECT_FALSE(overlay_.has_to_publish());
  EXPECT_EQ(overlay_.base(), "v2");
}

TEST_F(OverlayTest, AFileThatReplacesAnotherIsCommittedByThat) {
  MUST(apply(create("a", 2)));
  MUST(apply(Commit{2}));
  MUST(apply(create("a.new", 3)));
  MUST(apply(write(3, "bytes")));
  MUST(apply(Rename{.from = {kRootInode, "a.new"},
                    .to = {kRootInode, "a"},
                    .moved = 3,
                    .replaced = 2,
                    .when = {9, 0}}));
  EXPECT_TRUE(overlay_.find(3)->is_in_version());
  EXPECT_EQ(overlay_.find(3)->committed.seconds, 5);
  EXPECT_FALSE(overlay_.find(2)->has_name());
}

TEST_F(OverlayTest, BytesThatAreWrittenDuringAPublishWaitForTheNext) {
  MUST(apply(create("a", 2)));
  MUST(apply(write(2, "first")));
  MUST(apply(Commit{2}));
  MUST(apply(Barrier{1}));
  MUST(apply(write(2, "second one")));
  MUST(apply(Commit{2}));
  EXPECT_EQ(overlay_.frozen()->nodes.at(2)->content.committed_size(), 5U);
  MUST(apply(Published{1, "v1"}));
  ASSERT_NE(overlay_.find(2), nullptr);
  EXPECT_FALSE(overlay_.find(2)->is_new);
  EXPECT_EQ(overlay_.find(2)->content.size(), 10U);
  EXPECT_TRUE(overlay_.has_to_publish());
}

TEST_F(OverlayTest, AFileWithoutANameGoesOnceNobodyHasItOpen) {
  MUST(apply(create("a", 2)));
  MUST(apply(Commit{2}));
  publish(1);
  adopt_root();
  MUST(apply(adopted(2, "a", 100)));
  MUST(apply(Unlink{{kRootInode, "a"}, 2, {}}));
  publish(2);
  ASSERT_NE(overlay_.find(2), nullptr);
  EXPECT_EQ(overlay_.find(2)->bytes_of, "v1") << "the base has them no more";
  MUST(apply(Closed{2}));
  EXPECT_EQ(overlay_.find(2), nullptr);
}

TEST_F(OverlayTest, AFileThatIsClosedBeforeThePublishIsStillToBeRemovedByIt) {
  MUST(apply(adopted(2, "a")));
  MUST(apply(Unlink{{kRootInode, "a"}, 2, {}}));
  MUST(apply(Closed{2}));
  ASSERT_NE(overlay_.find(2), nullptr);
  EXPECT_TRUE(overlay_.has_to_publish());
  publish(1);
  EXPECT_TRUE(overlay_.nodes().empty());
}

// The version that is under way has it.
TEST_F(OverlayTest, AFileThatGoesDuringItsPublishIsRemovedByTheNext) {
  MUST(apply(create("a", 2)));
  MUST(apply(Commit{2}));
  MUST(apply(Barrier{1}));
  MUST(apply(Unlink{{kRootInode, "a"}, 2, {}}));
  MUST(apply(Closed{2}));
  MUST(apply(Published{1, "v1"}));
  ASSERT_NE(overlay_.find(2), nullptr);
  EXPECT_FALSE(overlay_.find(2)->is_new);
  EXPECT_FALSE(overlay_.find(2)->has_name());
  publish(2);
  EXPECT_TRUE(overlay_.nodes().empty());
}

TEST_F(OverlayTest, ARequestThatComesAgainIsAnsweredAsBefore) {
  const RequestId request{7, 42};
  EXPECT_FALSE(overlay_.answer_of(request));
  MUST(apply(create("a", 2), request));
  EXPECT_EQ(overlay_.answer_of(request), 2U);
  MUST(apply(Unlink{{kRootInode, "a"}, 2, {}}, {7, 43}));
  EXPECT_EQ(overlay_.answer_of({7, 43}), 0U);
  EXPECT_FALSE(overlay_.answer_of({8, 42}));
  const std::vector<Record> records = overlay_.checkpoint();
  overlay_ = Overlay();
  for (const Record& record : records) MUST(apply(record.change, record.request));
  EXPECT_EQ(overlay_.answer_of(request), 2U);
  for (std::uint64_t unique = 100; unique < 100 + Overlay::kAnswersMax; ++unique) {
    MUST(apply(Answered{0}, {7, unique}));
  }
  EXPECT_FALSE(overlay_.answer_of(request)) << "a kernel has forgotten it long since";
}

// Also where it is the base that has what is in it.
TEST_F(OverlayTest, AFolderWithSomethingThatWasAdoptedIsNotRemoved) {
  Adopt folder{.inode = 2, .kind = NodeKind::kFolder};
  folder.places = {{kRootInode, "d"}};
  MUST(apply(folder));
  Adopt file{.inode = 3};
  file.places = {{2, "a"}};
  MUST(apply(file));
  EXPECT_EQ(refusal(Unlink{{kRootInode, "d"}, 2, {}}), "removes a folder that is not empty");
  MUST(apply(Unlink{{2, "a"}, 3, {}}));
  MUST(apply(Unlink{{kRootInode, "d"}, 2, {}}));
  file.inode = 4;
  EXPECT_EQ(refusal(file), "is of a folder that is gone");
}

// A publish changes the hashes of all folders above what was changed.
TEST_F(OverlayTest, FoldersAboveWhatIsStillChangedStay) {
  MUST(apply(create("d", 2, NodeKind::kFolder)));
  MUST(apply(Create{.at = {2, "e"}, .inode = 3, .kind = NodeKind::kFolder}));
  MUST(apply(Create{.at = {3, "a"}, .inode = 4}));
  MUST(apply(Commit{4}));
  MUST(apply(Barrier{1}));
  MUST(apply(write(4, "later")));
  MUST(apply(Published{1, "v1"}));
  for (const Inode inode : {kRootInode, Inode{2}, Inode{3}, Inode{4}}) {
    EXPECT_NE(overlay_.find(inode), nullptr) << inode;
  }
  MUST(apply(Commit{4}));
  publish(2);
  EXPECT_TRUE(overlay_.nodes().empty());
}

TEST_F(OverlayTest, NamesAreExchanged) {
  MUST(apply(create("a", 2)));
  MUST(apply(create("d", 3, NodeKind::kFolder)));
  MUST(apply(Create{.at = {3, "b"}, .inode = 4, .kind = NodeKind::kFolder}));
  MUST(apply(Rename{.from = {kRootInode, "a"},
                    .to = {3, "b"},
                    .moved = 2,
                    .replaced = 4,
                    .exchanges = true,
                    .when = {9, 0}}));
  EXPECT_EQ(overlay_.find(kRootInode)->names.at("a").inode, 4U);
  EXPECT_EQ(overlay_.find(3)->names.at("b").inode, 2U);
  EXPECT_EQ(overlay_.find(4)->places, (std::set<Place>{{kRootInode, "a"}}));
  EXPECT_EQ(overlay_.find(4)->changed.seconds, 9);
}

// A program that writes for hours without a commit causes no version.
TEST_F(OverlayTest, BytesThatAreNotCommittedAreNothingToPublish) {
  MUST(apply(create("a", 2)));
  MUST(apply(Commit{2}));
  publish(1);
  adopt_root();
  MUST(apply(adopted(2, "a", 10)));
  EXPECT_FALSE(overlay_.has_to_publish()) << "as the base has it";
  MUST(apply(write(2, "bytes")));
  EXPECT_FALSE(overlay_.has_to_publish());
  MUST(apply(Commit{2}));
  EXPECT_TRUE(overlay_.has_to_publish());
}

// POSIX: what changes the bytes, the names or the attributes changes these times.
TEST_F(OverlayTest, TimesFollowWhatIsChanged) {
  Create made = create("a", 2);
  made.when = {10, 0};
  MUST(apply(made));
  const auto times = [this](Inode inode) {
    const OverlayNode& node = *overlay_.find(inode);
    return std::vector<std::int64_t>{node.accessed.seconds, node.modified.seconds,
                                     node.changed.seconds};
  };
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{10, 10, 10}));
  EXPECT_EQ(times(kRootInode), (std::vector<std::int64_t>{0, 10, 10}));
  MUST(apply(Write{.file = 2, .offset = 0, .when = {11, 0}, .bytes = "bytes"}));
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{10, 11, 11}));
  SetAttributes change{.inode = 2, .mode = 0600};
  change.accessed = Moment{5, 0};
  change.when = {12, 0};
  MUST(apply(change));
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{5, 11, 12}));
  MUST(apply(Link{2, {kRootInode, "b"}, {13, 0}}));
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{5, 11, 13}));
  EXPECT_EQ(times(kRootInode), (std::vector<std::int64_t>{0, 13, 13}));
  MUST(apply(Unlink{{kRootInode, "a"}, 2, {14, 0}}));
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{5, 11, 14}));
  EXPECT_EQ(overlay_.find(2)->places, (std::set<Place>{{kRootInode, "b"}}));
  MUST(apply(Truncate{.file = 2, .size = 5, .when = {15, 0}}));
  EXPECT_EQ(times(2), (std::vector<std::int64_t>{5, 15, 15})) << "also of the same size";
}

TEST_F(OverlayTest, FilesOfALogAreNeededAsLongAsAPublishReadsThem) {
  MUST(apply(create("a", 2)));
  MUST(apply(write(2, "bytes")));
  MUST(apply(Commit{2}));
  MUST(apply(Barrier{1}));
  MUST(apply(Truncate{.file = 2}));
  MUST(apply(Commit{2}));
  EXPECT_EQ(overlay_.files().size(), 1U);
  MUST(apply(Published{1, "v1"}));
  EXPECT_TRUE(overlay_.files().empty());
}

TEST_F(OverlayTest, ARecordThatDoesNotGoOnChangesNothing) {
  MUST(apply(create("a", 2)));
  MUST(apply(create("d", 3, NodeKind::kFolder)));
  MUST(apply(Create{.at = {3, "b"}, .inode = 4}));
  EXPECT_EQ(refusal(Based{"v9"}), "names a second base");
  EXPECT_EQ(refusal(Adopt{.inode = 2}), "adopts a node twice");
  Adopt lost{.inode = 9};
  lost.places = {{8, "a"}};
  EXPECT_EQ(refusal(lost), "is of node 8, which nothing before it tells of");
  Adopt folder{.inode = 9, .kind = NodeKind::kFolder};
  folder.places = {{kRootInode, "x"}, {kRootInode, "y"}};
  EXPECT_EQ(refusal(folder), "adopts a folder with too many names");
  EXPECT_EQ(refusal(Adopt{}), "adopts a node twice");
  EXPECT_EQ(refusal(create("b", 2)), "makes a node twice");
  EXPECT_EQ(refusal(create("a", 9)), "gives a name that is taken");
  for (const std::string& name : {std::string("a/b"), std::string("."), std::string(),
                                  std::string(256, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(refusal(create(name, 9)), "gives a name that is none");
  }
  EXPECT_EQ(refusal(Create{.at = {2, "b"}, .inode = 9}), "takes for a folder what is none");
  EXPECT_EQ(refusal(write(3, "bytes")), "takes for a file what is none");
  EXPECT_EQ(refusal(write(9, "bytes")), "is of node 9, which nothing before it tells of");
  EXPECT_EQ(refusal(Write{.file = 2, .offset = UINT64_MAX, .when = {}, .bytes = "a"}),
            "makes a file too long");
  EXPECT_EQ(refusal(Truncate{.file = 2, .size = UINT64_MAX}), "makes a file too long");
  EXPECT_EQ(refusal(Unlink{{kRootInode, "a"}, 4, {}}), "takes a name for another node's");
  EXPECT_EQ(refusal(Unlink{{kRootInode, "d"}, 3, {}}), "removes a folder that is not empty");
  const Place a{kRootInode, "a"};
  const Place d{kRootInode, "d"};
  EXPECT_EQ(refusal(Rename{.from = a, .to = a, .moved = 2, .replaced = 2}),
            "gives a node its own name");
  EXPECT_EQ(refusal(Rename{.from = a, .to = {3, "x"}, .moved = 2, .exchanges = true}),
            "exchanges a name with nothing");
  EXPECT_EQ(refusal(Rename{.from = a, .to = d, .moved = 2, .replaced = 3}),
            "removes a folder that is not empty");
  EXPECT_EQ(refusal(Rename{.from = d, .to = a, .moved = 3, .replaced = 2}),
            "replaces a folder by what is none");
  EXPECT_EQ(refusal(Rename{.from = d, .to = {3, "x"}, .moved = 3}), "moves a folder into itself");
  EXPECT_EQ(refusal(Unlink{{3, "c"}, 4, {}}), "takes a name that the node has not");
  EXPECT_EQ(refusal(Link{3, {kRootInode, "e"}, {}}), "names what can have no second name");
  EXPECT_EQ(refusal(Closed{2}), "closes a node that has a name");
  EXPECT_EQ(refusal(Published{1, "v1"}), "tells of barrier 1, which is not there");
  EXPECT_EQ(refusal(CheckpointEnd{}), "is the log's own");
  EXPECT_EQ(overlay_.find(kRootInode)->names.size(), 2U);
}

}  // namespace
}  // namespace runnel::writing
