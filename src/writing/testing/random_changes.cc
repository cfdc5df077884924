#include "writing/testing/random_changes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace runnel::writing::testing {

using volume::NodeKind;

namespace {

constexpr std::uint64_t kFileMax = 6'000;
constexpr std::size_t kNodesMax = 40;

bool is_below(const FileModel& model, Inode inode, Inode folder) {
  if (inode == folder) return true;
  const auto& names = model.at(folder).names;
  return std::any_of(names.begin(), names.end(), [&model, inode](const auto& each) {
    return is_below(model, inode, each.second);
  });
}

Inode named(const FileModel& model, const Place& at) {
  return model.at(at.folder).names.at(at.name);
}
bool is_there(const FileModel& model, const Place& at) {
  return model.at(at.folder).names.contains(at.name);
}

bool may_rename(const FileModel& model, const Rename& change) {
  if (change.moved == change.replaced) return false;
  if (is_below(model, change.to.folder, change.moved)) return false;
  if (change.replaced == 0) return true;
  if (change.exchanges) return !is_below(model, change.from.folder, change.replaced);
  const bool is_folder = model.at(change.moved).kind == NodeKind::kFolder;
  const bool was_folder = model.at(change.replaced).kind == NodeKind::kFolder;
  return is_folder == was_folder && model.at(change.replaced).names.empty();
}

}  // namespace

std::vector<Change> RandomChanges::next(FileModel& model, const Overlay& overlay,
                                        const ModelTree& base) {
  Turn turn{.model = model, .overlay = overlay, .base = base, .adopted = {}, .records = {}};
  switch (dice_.next() % 20) {
    case 0:
    case 1:
    case 2: create(turn); break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7: write(turn); break;
    case 8:
    case 9: truncate(turn); break;
    case 10:
    case 11: rename(turn); break;
    case 12: link(turn); break;
    case 13:
    case 14: unlink(turn); break;
    case 15: set_attributes(turn); break;
    case 16:
    case 17:
    case 18: commit(turn); break;
    default: close(turn);
  }
  return std::move(turn.records);
}

std::optional<Inode> RandomChanges::some(const Turn& turn, std::optional<NodeKind> kind,
                                         bool has_name) {
  std::vector<Inode> found;
  for (const Inode inode : turn.model.all()) {
    const ModelNode& node = turn.model.at(inode);
    if (kind && node.kind != *kind) continue;
    if (has_name && node.links == 0) continue;
    found.push_back(inode);
  }
  return found.empty() ? std::nullopt : std::optional(found[dice_.next() % found.size()]);
}

std::optional<Place> RandomChanges::a_place(const Turn& turn) {
  const Inode folder = a_folder(turn);
  const auto& names = turn.model.at(folder).names;
  if (names.empty()) return std::nullopt;
  const auto at = std::next(names.begin(), static_cast<std::ptrdiff_t>(upto(names.size() - 1)));
  return Place{folder, at->first};
}

void RandomChanges::adopt(Turn& turn, Inode inode) {
  if (turn.overlay.find(inode) != nullptr || turn.adopted.contains(inode)) return;
  const ModelNode& node = turn.base.at(inode);
  Adopt adopted{.inode = inode, .kind = node.kind, .mode = node.mode};
  for (const auto& [folder, each] : turn.base) {
    for (const auto& [name, what] : each.names) {
      if (what == inode) adopted.places.push_back({folder, name});
    }
  }
  for (const Place& place : adopted.places) adopt(turn, place.folder);
  adopted.size = node.bytes.size();
  adopted.target = node.target;
  adopted.modified = adopted.accessed = adopted.changed = node.modified;
  turn.adopted.insert(inode);
  turn.records.push_back(adopted);
}

void RandomChanges::create(Turn& turn) {
  const Place at{a_folder(turn), a_name()};
  if (is_there(turn.model, at) || turn.model.all().size() > kNodesMax) return;
  constexpr std::array kKinds{NodeKind::kFile, NodeKind::kFile, NodeKind::kFile, NodeKind::kFolder,
                              NodeKind::kLink};
  const NodeKind kind = kKinds.at(upto(kKinds.size() - 1));
  const Moment when = now();
  adopt(turn, at.folder);
  turn.records.push_back(Create{.at = at,
                                .inode = ++last_inode_,
                                .kind = kind,
                                .mode = 0,
                                .owner = std::nullopt,
                                .group = std::nullopt,
                                .target = kind == NodeKind::kLink ? at.name : "",
                                .when = when});
  turn.model.create(at.folder, at.name, last_inode_, kind, when);
}

void RandomChanges::write(Turn& turn) {
  const auto file = some(turn, NodeKind::kFile, false);
  if (!file) return;
  adopt(turn, *file);
  const std::uint64_t size = turn.model.at(*file).bytes.size();
  const bool appends = dice_.next() % 3 == 0;
  const std::uint64_t offset = appends ? size : upto(kFileMax);
  if (offset >= kFileMax) return;
  std::string bytes(upto(kFileMax - offset), '\0');
  for (char& each : bytes) each = static_cast<char>(dice_.next());
  const Moment when = now();
  turn.model.write(*file, offset, bytes, when);
  if (staging_ == Staging::kNone || dice_.next() % 2 == 0) {
    turn.records.push_back(Write{*file, offset, when, bytes});
    return;
  }
  staged_ += bytes;
  turn.records.push_back(WriteStaged{
      .file = *file,
      .offset = offset,
      .length = bytes.size(),
      .place = {.file = {DataFile::Kind::kStaging, 1}, .offset = staged_.size() - bytes.size()},
      .when = when});
}

void RandomChanges::truncate(Turn& turn) {
  const auto file = some(turn, NodeKind::kFile, false);
  if (!file) return;
  adopt(turn, *file);
  const Moment when = now();
  const std::uint64_t size = upto(4) == 0 ? turn.model.at(*file).bytes.size() : upto(kFileMax);
  turn.model.truncate(*file, size, when);
  turn.records.push_back(Truncate{*file, size, when});
}

void RandomChanges::rename(Turn& turn) {
  const auto from = a_place(turn);
  if (!from) return;
  Rename change{.from = *from, .to = {a_folder(turn), a_name()}, .moved = named(turn.model, *from)};
  if (is_there(turn.model, change.to)) change.replaced = named(turn.model, change.to);
  change.exchanges = change.replaced != 0 && upto(3) == 0;
  if (!may_rename(turn.model, change)) return;
  change.when = now();
  for (const Inode inode : {from->folder, change.to.folder, change.moved}) adopt(turn, inode);
  if (change.replaced != 0) adopt(turn, change.replaced);
  turn.records.push_back(change);
  turn.model.rename(change);
}

void RandomChanges::link(Turn& turn) {
  const auto inode = some(turn, std::nullopt, true);
  const Place at{a_folder(turn), a_name()};
  if (turn.model.at(*inode).kind == NodeKind::kFolder || is_there(turn.model, at)) return;
  const Moment when = now();
  adopt(turn, *inode);
  adopt(turn, at.folder);
  turn.records.push_back(Link{*inode, at, when});
  turn.model.link(*inode, at.folder, at.name, when);
}

void RandomChanges::unlink(Turn& turn) {
  const auto at = a_place(turn);
  if (!at || !turn.model.at(named(turn.model, *at)).names.empty()) return;
  const Inode inode = named(turn.model, *at);
  const Moment when = now();
  adopt(turn, inode);
  adopt(turn, at->folder);
  turn.records.push_back(Unlink{*at, inode, when});
  turn.model.unlink(at->folder, at->name, when);
}

void RandomChanges::set_attributes(Turn& turn) {
  const Inode inode = *some(turn, std::nullopt, false);
  const auto mode = static_cast<std::uint32_t>(upto(0777));
  const auto modified = dice_.next() % 2 == 0 ? std::optional(now()) : std::nullopt;
  adopt(turn, inode);
  SetAttributes change{.inode = inode, .mode = mode};
  change.modified = modified;
  change.when = now();
  turn.records.push_back(change);
  turn.model.set_mode(inode, mode, modified);
}

void RandomChanges::commit(Turn& turn) {
  const auto file = some(turn, NodeKind::kFile, false);
  if (!file) return;
  adopt(turn, *file);
  turn.records.push_back(Commit{*file});
  turn.model.commit(*file);
}

void RandomChanges::close(Turn& turn) {
  for (const Inode inode : turn.model.all()) {
    if (turn.model.at(inode).links > 0 || dice_.next() % 2 == 0) continue;
    turn.records.push_back(Closed{inode});
    return turn.model.close(inode);
  }
}

}  // namespace runnel::writing::testing
