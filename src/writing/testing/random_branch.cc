#include "writing/testing/random_branch.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <gtest/gtest.h>

#include "hash/sha256.h"
#include "writing/version_edit.h"

namespace runnel::writing::testing {

using volume::kRootInode;
using volume::NodeKind;

RandomBranch::RandomBranch(std::uint64_t seed, BranchLog& log)
    : dice_(seed), log_(log), changes_(seed, RandomChanges::Staging::kSome) {
  versions_["v0"][kRootInode].kind = NodeKind::kFolder;
  this->log(Based{"v0"});
}

void RandomBranch::log(Change change) {
  MUST(overlay_.apply(log_.append({.request = {}, .change = std::move(change)})));
}

void RandomBranch::step() {
  switch (dice_.next() % 24) {
    case 0: return begin_publish();
    case 1: return end_publish();
    case 2: return begin_anew();
    case 3: return replay();
    default: return change();
  }
}

void RandomBranch::change() {
  for (Change& each : changes_.next(model_, overlay_, view().base())) log(std::move(each));
}

void RandomBranch::begin_publish() {
  if (overlay_.frozen()) return;
  log(Barrier{++barrier_});
  log(Publishing{barrier_, "v" + std::to_string(barrier_)});
  expected_ = model_.version();
}

void RandomBranch::end_publish() {
  if (!overlay_.frozen()) return;
  const std::string version = overlay_.frozen()->publishing;
  ModelTree made = view().version_of(overlay_.frozen()->nodes);
  ASSERT_EQ(text(made), text(expected_)) << version;
  ASSERT_EQ(text(edited(*overlay_.frozen())), text(expected_)) << version;
  versions_[version] = std::move(made);
  const std::size_t before = overlay_.nodes().size();
  log(Published{overlay_.frozen()->number, version});
  forgotten_ += before - overlay_.nodes().size();
  ++published_;
  ASSERT_EQ(*overlay_.base(), version);
}

void RandomBranch::begin_anew() {
  if (overlay_.frozen()) return;
  const auto checkpoint = [this] {
    std::vector<Record> records = overlay_.checkpoint();
    overlay_ = Overlay();
    return records;
  };
  log_.begin_anew(checkpoint,
                  [this](const LoggedRecord& logged) { return overlay_.apply(logged); });
}

void RandomBranch::replay() {
  overlay_ = Overlay();
  log_.replay([this](const LoggedRecord& logged) { return overlay_.apply(logged); });
}

void RandomBranch::expect_as_modelled() const {
  ASSERT_EQ(text(view().seen()), text(model_.now()));
  if (overlay_.frozen()) return;
  ASSERT_EQ(text(view().version_of(overlay_.nodes())), text(model_.version()));
}

BranchView RandomBranch::view() const {
  return {overlay_, versions_, [this](DataPlace place, std::size_t length) {
            const bool is_staged = place.file.kind == DataFile::Kind::kStaging;
            return is_staged ? changes_.staged().substr(place.offset, length)
                             : log_.read(place, length);
          }};
}

ModelTree RandomBranch::edited(const Overlay::Frozen& frozen) const {
  std::map<Inode, std::string> bytes;
  StoredContents contents;
  const PublishedFiles files = files_of(frozen);
  for (const auto* all : {&files.changed, &files.as_based}) {
    for (const Inode inode : *all) {
      const OverlayNode& node = *frozen.nodes.at(inode);
      bytes[inode] = view().bytes_of(inode, node, node.content.committed_ranges());
      contents[inode].hash = hash::sha256(bytes[inode]);
    }
  }
  for (const Inode inode : files.as_based) EXPECT_EQ(bytes[inode], view().base().at(inode).bytes);
  const volume::InodeEdit edit = edit_of(frozen, std::move(contents));
  ModelTree tree = view().base();
  for (const auto& [at, what] : edit.names) {
    EXPECT_TRUE(edit.nodes.contains(at.first)) << "a folder whose hash is another";
    if (what) {
      tree[at.first].names[at.second] = what->inode;
    } else {
      tree[at.first].names.erase(at.second);
    }
  }
  for (const auto& [inode, changed] : edit.nodes) {
    if (!changed.node) {
      tree.erase(inode);
      continue;
    }
    ModelNode& made = tree[inode];
    made.kind = changed.node->kind;
    made.mode = changed.node->mode;
    made.links = changed.node->links;
    made.modified = {changed.node->changed, changed.node->changed_nanos};
    made.target = changed.node->target;
    if (made.kind == NodeKind::kFile) made.bytes = bytes.at(inode);
    EXPECT_EQ(made.bytes.size(), changed.node->size) << inode;
    const bool is_below = made.kind == NodeKind::kFolder && inode != kRootInode;
    EXPECT_EQ(is_below, changed.above != 0) << inode;
    EXPECT_TRUE(!is_below || edit.nodes.contains(changed.above)) << inode;
  }
  return tree;
}

}  // namespace runnel::writing::testing
