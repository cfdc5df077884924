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

namespace {

constexpr std::uint64_t kFileMax = 6'000;
constexpr std::size_t kNodesMax = 40;

ModelNode model_of(const OverlayNode& node) {
  ModelNode model;
  model.kind = node.kind;
  model.mode = node.mode;
  model.links = node.is_root ? 1 : node.places.size();
  model.modified = node.modified;
  model.target = node.target;
  return model;
}

}  // namespace

RandomBranch::RandomBranch(std::uint64_t seed, BranchLog& log) : dice_(seed), log_(log) {
  versions_["v0"][kRootInode].kind = NodeKind::kFolder;
  this->log(Based{"v0"});
}

void RandomBranch::log(Change change) {
  MUST(overlay_.apply(log_.append({.request = {}, .change = std::move(change)})));
}

void RandomBranch::step() {
  switch (dice_.next() % 24) {
    case 0:
    case 1:
    case 2: return create();
    case 3:
    case 4:
    case 5:
    case 6:
    case 7: return write();
    case 8:
    case 9: return truncate();
    case 10:
    case 11: return rename();
    case 12: return link();
    case 13:
    case 14: return unlink();
    case 15: return set_attributes();
    case 16:
    case 17:
    case 18: return commit();
    case 19: return close();
    case 20: return begin_publish();
    case 21: return end_publish();
    case 22: return begin_anew();
    default: return replay();
  }
}

std::optional<Inode> RandomBranch::some(std::optional<NodeKind> kind, bool has_name) {
  std::vector<Inode> found;
  for (const Inode inode : model_.all()) {
    const ModelNode& node = model_.at(inode);
    if (kind && node.kind != *kind) continue;
    if (has_name && node.links == 0) continue;
    found.push_back(inode);
  }
  return found.empty() ? std::nullopt : std::optional(found[dice_.next() % found.size()]);
}

std::optional<Place> RandomBranch::a_place() {
  const Inode folder = a_folder();
  const auto& names = model_.at(folder).names;
  if (names.empty()) return std::nullopt;
  const auto at = std::next(names.begin(), static_cast<std::ptrdiff_t>(upto(names.size() - 1)));
  return Place{folder, at->first};
}

bool RandomBranch::is_below(Inode inode, Inode folder) const {
  if (inode == folder) return true;
  const auto& names = model_.at(folder).names;
  return std::any_of(names.begin(), names.end(),
                     [this, inode](const auto& each) { return is_below(inode, each.second); });
}

void RandomBranch::adopt(Inode inode) {
  if (overlay_.find(inode) != nullptr) return;
  const ModelNode& node = base().at(inode);
  Adopt adopted{.inode = inode, .kind = node.kind, .mode = node.mode};
  for (const auto& [folder, each] : base()) {
    for (const auto& [name, what] : each.names) {
      if (what == inode) adopted.places.push_back({folder, name});
    }
  }
  for (const Place& place : adopted.places) adopt(place.folder);
  adopted.size = node.bytes.size();
  adopted.target = node.target;
  adopted.modified = adopted.accessed = adopted.changed = node.modified;
  log(adopted);
}

void RandomBranch::create() {
  const Place at{a_folder(), a_name()};
  if (is_there(at) || model_.all().size() > kNodesMax) return;
  constexpr std::array kKinds{NodeKind::kFile, NodeKind::kFile, NodeKind::kFile, NodeKind::kFolder,
                              NodeKind::kLink};
  const NodeKind kind = kKinds.at(upto(kKinds.size() - 1));
  const Moment when = now();
  adopt(at.folder);
  log(Create{.at = at,
             .inode = ++last_inode_,
             .kind = kind,
             .mode = 0,
             .owner = std::nullopt,
             .group = std::nullopt,
             .target = kind == NodeKind::kLink ? at.name : "",
             .when = when});
  model_.create(at.folder, at.name, last_inode_, kind, when);
}

void RandomBranch::write() {
  const auto file = some(NodeKind::kFile, false);
  if (!file) return;
  adopt(*file);
  const std::uint64_t size = model_.at(*file).bytes.size();
  const bool appends = dice_.next() % 3 == 0;
  const std::uint64_t offset = appends ? size : upto(kFileMax);
  if (offset >= kFileMax) return;
  std::string bytes(upto(kFileMax - offset), '\0');
  for (char& each : bytes) each = static_cast<char>(dice_.next());
  const Moment when = now();
  model_.write(*file, offset, bytes, when);
  if (dice_.next() % 2 == 0) return log(Write{*file, offset, when, bytes});
  staged_ += bytes;
  log(WriteStaged{
      .file = *file,
      .offset = offset,
      .length = bytes.size(),
      .place = {.file = {DataFile::Kind::kStaging, 1}, .offset = staged_.size() - bytes.size()},
      .when = when});
}

void RandomBranch::truncate() {
  const auto file = some(NodeKind::kFile, false);
  if (!file) return;
  adopt(*file);
  const Moment when = now();
  const std::uint64_t size = upto(4) == 0 ? model_.at(*file).bytes.size() : upto(kFileMax);
  model_.truncate(*file, size, when);
  log(Truncate{*file, size, when});
}

bool RandomBranch::may_rename(const Rename& change) {
  if (change.moved == change.replaced || is_below(change.to.folder, change.moved)) return false;
  if (change.replaced == 0) return true;
  if (change.exchanges) return !is_below(change.from.folder, change.replaced);
  const bool is_folder = model_.at(change.moved).kind == NodeKind::kFolder;
  const bool was_folder = model_.at(change.replaced).kind == NodeKind::kFolder;
  return is_folder == was_folder && model_.at(change.replaced).names.empty();
}

void RandomBranch::rename() {
  const auto from = a_place();
  if (!from) return;
  Rename change{.from = *from, .to = {a_folder(), a_name()}, .moved = named(*from)};
  if (is_there(change.to)) change.replaced = named(change.to);
  change.exchanges = change.replaced != 0 && upto(3) == 0;
  if (!may_rename(change)) return;
  change.when = now();
  for (const Inode inode : {from->folder, change.to.folder, change.moved}) adopt(inode);
  if (change.replaced != 0) adopt(change.replaced);
  log(change);
  model_.rename(change);
}

void RandomBranch::link() {
  const auto inode = some(std::nullopt, true);
  const Place at{a_folder(), a_name()};
  if (model_.at(*inode).kind == NodeKind::kFolder || is_there(at)) return;
  const Moment when = now();
  adopt(*inode);
  adopt(at.folder);
  log(Link{*inode, at, when});
  model_.link(*inode, at.folder, at.name, when);
}

void RandomBranch::unlink() {
  const auto at = a_place();
  if (!at || !model_.at(named(*at)).names.empty()) return;
  const Inode inode = named(*at);
  const Moment when = now();
  adopt(inode);
  adopt(at->folder);
  log(Unlink{*at, inode, when});
  model_.unlink(at->folder, at->name, when);
}

void RandomBranch::set_attributes() {
  const Inode inode = *some(std::nullopt, false);
  const auto mode = static_cast<std::uint32_t>(upto(0777));
  const auto modified = dice_.next() % 2 == 0 ? std::optional(now()) : std::nullopt;
  adopt(inode);
  SetAttributes change{.inode = inode, .mode = mode};
  change.modified = modified;
  change.when = now();
  log(change);
  model_.set_mode(inode, mode, modified);
}

void RandomBranch::commit() {
  const auto file = some(NodeKind::kFile, false);
  if (!file) return;
  adopt(*file);
  log(Commit{*file});
  model_.commit(*file);
}

void RandomBranch::close() {
  for (const Inode inode : model_.all()) {
    if (model_.at(inode).links > 0 || dice_.next() % 2 == 0) continue;
    log(Closed{inode});
    model_.close(inode);
  }
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
  ModelTree made = version_of(overlay_.frozen()->nodes);
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
  ASSERT_EQ(text(seen()), text(model_.now()));
  if (overlay_.frozen()) return;
  ASSERT_EQ(text(version_of(overlay_.nodes())), text(model_.version()));
}

std::string RandomBranch::bytes_of(Inode inode, const OverlayNode& node,
                                   const std::vector<Range>& ranges) const {
  std::string bytes;
  for (const Range& range : ranges) {
    EXPECT_EQ(range.offset, bytes.size()) << inode;
    const Source& source = range.source;
    if (source.kind == Source::Kind::kZeros) {
      bytes.append(range.length, '\0');
    } else if (source.kind == Source::Kind::kBase) {
      const ModelTree& of = node.bytes_of.empty() ? base() : versions_.at(node.bytes_of);
      bytes += of.at(inode).bytes.substr(range.offset, range.length);
    } else {
      const bool is_staged = source.data.file.kind == DataFile::Kind::kStaging;
      bytes += is_staged ? staged_.substr(source.data.offset, range.length)
                         : log_.read(source.data, range.length);
    }
  }
  return bytes;
}

void RandomBranch::add_names(Inode inode, const OverlayNode& node, ModelNode& model) const {
  if (const auto found = base().find(inode); found != base().end() && !node.is_new) {
    model.names = found->second.names;
  }
  for (const auto& [name, what] : node.names) {
    if (what.inode == 0) {
      model.names.erase(name);
    } else {
      model.names[name] = what.inode;
    }
  }
}

ModelTree RandomBranch::seen() const {
  ModelTree tree = base();
  for (const auto& [inode, node] : overlay_.nodes()) {
    if (node->is_closed) {
      tree.erase(inode);
      continue;
    }
    ModelNode& made = tree[inode] = model_of(*node);
    add_names(inode, *node, made);
    made.bytes = bytes_of(inode, *node, node->content.ranges(0, node->content.size()));
  }
  return tree;
}

ModelTree RandomBranch::version_of(const Overlay::Nodes& nodes) const {
  ModelTree tree = base();
  for (const auto& [inode, node] : nodes) {
    if (!node->is_in_version()) {
      tree.erase(inode);
      continue;
    }
    ModelNode& made = tree[inode] = model_of(*node);
    add_names(inode, *node, made);
    std::erase_if(made.names, [&nodes](const auto& name) {
      const auto found = nodes.find(name.second);
      return found != nodes.end() && !found->second->is_in_version();
    });
    if (!node->is_file()) continue;
    made.bytes = bytes_of(inode, *node, node->content.committed_ranges());
    made.modified = node->committed;
  }
  return tree;
}

ModelTree RandomBranch::edited(const Overlay::Frozen& frozen) const {
  std::map<Inode, std::string> bytes;
  StoredContents contents;
  const PublishedFiles files = files_of(frozen);
  for (const auto* all : {&files.changed, &files.as_based}) {
    for (const Inode inode : *all) {
      const OverlayNode& node = *frozen.nodes.at(inode);
      bytes[inode] = bytes_of(inode, node, node.content.committed_ranges());
      contents[inode].hash = hash::sha256(bytes[inode]);
    }
  }
  for (const Inode inode : files.as_based) EXPECT_EQ(bytes[inode], base().at(inode).bytes);
  const volume::InodeEdit edit = edit_of(frozen, std::move(contents));
  ModelTree tree = base();
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
