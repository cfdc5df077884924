#include "writing/branch_files.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "volume/snapshot.h"

namespace runnel::writing {
namespace {

using volume::NodeKind;

constexpr std::size_t kAllEntries = std::numeric_limits<std::size_t>::max();

FileAttributes attributes_of(const OverlayNode& node) {
  FileAttributes all;
  all.kind = node.kind;
  all.mode = node.mode;
  all.links = node.is_folder() ? 1 : node.places.size();
  all.size = node.kind == NodeKind::kLink ? node.target.size() : node.content.size();
  all.owner = node.owner;
  all.group = node.group;
  all.modified = node.modified;
  all.accessed = node.accessed;
  all.changed = node.changed;
  return all;
}

Error no_entry(const std::string& name) {
  return refused(Refusal::kNoEntry, "there is no '" + name + "'");
}

Result<void> check_name(const std::string& name) {
  if (name.size() > BranchFiles::kNameBytesMax) {
    return refused(Refusal::kNameTooLong, "a name has " + std::to_string(name.size()) + " bytes; " +
                                              std::to_string(BranchFiles::kNameBytesMax) +
                                              " at most");
  }
  if (volume::fault_of_name(name)) return refused(Refusal::kBadName, "'" + name + "' is no name");
  return {};
}

}  // namespace

FileAttributes attributes_of(const volume::Node& node) {
  FileAttributes all;
  all.kind = node.kind;
  all.mode = node.mode;
  all.links = node.links;
  all.size = node.kind == NodeKind::kLink ? node.target.size() : node.size;
  all.owner = node.owner;
  all.group = node.group;
  all.modified = all.accessed = all.changed = {node.changed, node.changed_nanos};
  return all;
}

BranchFiles::BranchFiles(Branch& branch, BranchBase base, Clock clock)
    : branch_(branch), clock_(std::move(clock)) {
  for (const auto& [inode, node] : overlay().nodes()) last_inode_ = std::max(last_inode_, inode);
  rebase(std::move(base));
}

// Some node without a name may still have bytes of one before; the last one counts as used, since
// the overlay may be told of its successor later.
void BranchFiles::rebase(BranchBase base) {
  CHECK(base.snapshot != nullptr && base.read, "a base whose files cannot be read");
  if (base_.snapshot && base_.snapshot->manifest() == base.snapshot->manifest()) return;
  std::set<std::string> used;
  for (const auto& [inode, node] : overlay().nodes()) used.insert(node->bytes_of);
  std::erase_if(earlier_, [&used](const auto& each) { return !used.contains(each.version); });
  if (base_.snapshot) earlier_.push_back(std::move(base_));
  base_ = std::move(base);
  ++rebased_;
  last_inode_ = std::max(last_inode_, base_.snapshot->manifest().next_inode - 1);
}

Result<LoggedRecord> BranchFiles::change(const Asker& asker, Change change) {
  if (asker.is_wanted && !asker.is_wanted()) return Error(Errc::kCancelled, "nobody waits for it");
  return branch_.change({.request = asker.request, .change = std::move(change)});
}

// --- Looking.

// A volume without a version has a root all the same.
Async<volume::Node> BranchFiles::node_in_base(Inode inode) {
  const bool is_empty = !base_.snapshot->manifest().inodes.has_value();
  if (is_empty && inode == volume::kRootInode) {
    volume::Node root;
    root.kind = NodeKind::kFolder;
    root.mode = 0755;
    co_return root;
  }
  co_return co_await base_.snapshot->node(inode);
}

Async<FileAttributes> BranchFiles::attributes(Inode inode) {
  if (const OverlayNode* const node = overlay().find(inode)) co_return attributes_of(*node);
  const volume::Node node = CO_TRY(co_await node_in_base(inode));
  // It may have been changed meanwhile.
  const OverlayNode* const changed = overlay().find(inode);
  co_return changed != nullptr ? attributes_of(*changed) : attributes_of(node);
}

FileFound BranchFiles::found(Inode inode) const {
  const OverlayNode* const node = overlay().find(inode);
  CHECK(node != nullptr, "a node was changed that the overlay has not");
  return {inode, attributes_of(*node)};
}

Async<std::optional<Inode>> BranchFiles::name_in_base(Place at) {
  const OverlayNode* const folder = overlay().find(at.folder);
  if (folder != nullptr && folder->is_new) co_return std::optional<Inode>();
  const auto found = CO_TRY(co_await base_.snapshot->look_up(at.folder, at.name));
  co_return found ? std::optional(found->inode) : std::nullopt;
}

Async<std::optional<FileFound>> BranchFiles::look_up(Inode folder, std::string name) {
  CO_TRY(check_name(name));
  while (true) {
    const std::uint64_t rebased = rebased_;
    const Result<std::optional<FileFound>> there = co_await look_up_once({folder, name});
    if (rebased_ == rebased) co_return there;
  }
}

Async<std::optional<FileFound>> BranchFiles::look_up_once(Place at) {
  Inode inode = CO_TRY(co_await name_in_base(at)).value_or(0);
  if (const OverlayNode* const folder = overlay().find(at.folder)) {
    const auto changed = folder->names.find(at.name);
    if (changed != folder->names.end()) inode = changed->second.inode;
  }
  if (inode == 0) co_return std::optional<FileFound>();
  const std::uint64_t rebased = rebased_;
  const FileAttributes all = CO_TRY(co_await attributes(inode));
  if (overlay().find(inode) != nullptr) {
    note_place(inode);
  } else if (all.links == 1 && rebased_ == rebased) {
    places_.insert_or_assign(inode, at);
  }
  co_return std::optional(FileFound{inode, all});
}

// Once the overlay forgets the node nobody may look it up again, who changes it.
void BranchFiles::note_place(Inode inode) {
  const OverlayNode* const node = overlay().find(inode);
  if (node != nullptr && node->places.size() == 1) {
    places_.insert_or_assign(inode, *node->places.begin());
  } else {
    places_.erase(inode);
  }
}

Async<std::vector<FileEntry>> BranchFiles::list(Inode folder, std::string after, std::size_t max) {
  CHECK(max > 0, "no names are asked for");
  while (true) {
    const std::uint64_t rebased = rebased_;
    const Result<Part> part = co_await list_once(folder, after, max);
    if (rebased_ != rebased) continue;
    const Part read = CO_TRY(Result<Part>(part));
    if (!read.entries.empty() || read.is_last) co_return read.entries;
    after = read.until;  // All that was read is gone: there may be more.
  }
}

Async<BranchFiles::Part> BranchFiles::list_once(Inode folder, std::string after, std::size_t max) {
  const OverlayNode* node = overlay().find(folder);
  std::vector<volume::Snapshot::Entry> based;
  if (node == nullptr || !node->is_new) {
    based = CO_TRY(co_await base_.snapshot->list(folder, after, max));
  }
  Part part;
  part.is_last = based.size() < max;
  part.until = part.is_last ? "" : based.back().name;
  std::map<std::string, volume::Name> merged;
  for (auto& entry : based) merged.emplace(std::move(entry.name), entry.what);
  node = overlay().find(folder);
  if (node != nullptr) add_changed(*node, after, part, merged);
  for (const auto& [name, what] : merged) {
    if (part.entries.size() < max) part.entries.push_back({name, what});
  }
  co_return part;
}

// Behind what was read of the base only the next part knows what comes.
void BranchFiles::add_changed(const OverlayNode& folder, const std::string& after, const Part& part,
                              std::map<std::string, volume::Name>& merged) const {
  for (auto at = folder.names.upper_bound(after); at != folder.names.end(); ++at) {
    const auto& [name, what] = *at;
    if (!part.is_last && name > part.until) break;
    if (what.inode == 0) {
      merged.erase(name);
    } else {
      merged.insert_or_assign(name, volume::Name{what.inode, overlay().find(what.inode)->kind});
    }
  }
}

// A publish may let go of what is being read: then the base has it. And where a log begins anew
// bytes that were in memory are elsewhere: an old place may read as zeros.
Async<std::string> BranchFiles::read(Inode file, std::uint64_t offset, std::uint64_t length) {
  while (true) {
    const std::uint64_t rebased = rebased_;
    const std::uint64_t begun_anew = branch_.begun_anew();
    Result<std::string> bytes = co_await read_once(file, offset, length);
    if (rebased_ == rebased && branch_.begun_anew() == begun_anew) co_return bytes;
  }
}

Async<std::string> BranchFiles::read_once(Inode file, std::uint64_t offset, std::uint64_t length) {
  const OverlayNode* const node = overlay().find(file);
  if (node == nullptr) {
    const auto read_newest = base_.read;
    co_return co_await read_newest(file, offset, length);
  }
  if (!node->is_file()) co_return refused(Refusal::kIsFolder, "only a file has bytes");
  const std::string bytes_of = node->bytes_of;
  const std::uint64_t room = kFileBytesMax - std::min(offset, kFileBytesMax);
  std::string bytes;
  for (const Range& range : node->content.ranges(offset, offset + std::min(length, room))) {
    switch (range.source.kind) {
      case Source::Kind::kZeros: bytes.append(range.length, '\0'); break;
      case Source::Kind::kBase:
        bytes += CO_TRY(co_await read_base(bytes_of, file, range.offset, range.length));
        break;
      case Source::Kind::kData:
        bytes += CO_TRY(co_await branch_.read(range.source.data, range.length));
        break;
    }
  }
  co_return bytes;
}

// Of a version there may have been several manifests, of which one has the file.
Async<std::string> BranchFiles::read_base(std::string version, Inode file, std::uint64_t offset,
                                          std::uint64_t length) {
  std::vector<BranchBase> bases;
  if (version.empty()) bases.push_back(base_);
  std::copy_if(
      earlier_.rbegin(), earlier_.rend(), std::back_inserter(bases),
      [&version](const BranchBase& each) { return !version.empty() && each.version == version; });
  Result<std::string> bytes =
      Error(Errc::kNotFound, "version " + version + " is gone, whose bytes an open file has");
  for (const BranchBase& base : bases) {
    bytes = co_await base.read(file, offset, length);
    if (bytes.ok()) break;
  }
  co_return bytes;
}

Async<std::string> BranchFiles::target(Inode link) {
  if (const OverlayNode* const node = overlay().find(link)) co_return node->target;
  const volume::Node node = CO_TRY(co_await node_in_base(link));
  co_return node.target;
}

// --- What is changed is in the overlay first.

Async<std::vector<Place>> BranchFiles::places_of(Inode inode, const volume::Node& node) {
  std::vector<Place> places;
  if (inode == volume::kRootInode) co_return places;
  const auto met = places_.find(inode);
  if (met != places_.end() && node.links == 1) {
    places.push_back(met->second);
    co_return places;
  }
  const std::shared_ptr<volume::Snapshot> snapshot = base_.snapshot;
  for (auto& [folder, name] : CO_TRY(co_await snapshot->names_of(inode))) {
    places.push_back({folder, std::move(name)});
  }
  co_return places;
}

Async<void> BranchFiles::adopt(Inode inode) {
  while (overlay().find(inode) == nullptr) {
    const std::uint64_t rebased = rebased_;
    Result<Adopt> found = co_await adopt_of(inode);
    const bool is_as_it_was = rebased_ == rebased && overlay().find(inode) == nullptr;
    if (is_as_it_was) CO_TRY(change({}, CO_TRY(std::move(found))));
  }
  co_return {};
}

// With the folders that it is in.
Async<Adopt> BranchFiles::adopt_of(Inode inode) {
  const volume::Node node = CO_TRY(co_await node_in_base(inode));
  Adopt adopted{.inode = inode, .kind = node.kind, .mode = node.mode};
  adopted.places = CO_TRY(co_await places_of(inode, node));
  for (const Place& place : adopted.places) CO_TRY(co_await adopt(place.folder));
  adopted.owner = node.owner;
  adopted.group = node.group;
  adopted.size = node.size;
  adopted.target = node.target;
  adopted.modified = adopted.accessed = adopted.changed = {node.changed, node.changed_nanos};
  co_return adopted;
}

Async<std::vector<BranchFiles::There>> BranchFiles::look_at(std::vector<Place> places) {
  while (true) {
    const std::uint64_t rebased = rebased_;
    const Result<std::vector<There>> looked = co_await look_at_each(places);
    if (rebased_ != rebased) continue;
    const std::vector<There> there = CO_TRY(Result<std::vector<There>>(looked));
    bool is_still = true;
    for (std::size_t at = 0; is_still && at < places.size(); ++at) {
      is_still = is_as_looked_at(places[at], there[at]);
    }
    if (is_still) co_return there;
  }
}

Async<std::vector<BranchFiles::There>> BranchFiles::look_at_each(std::vector<Place> places) {
  std::vector<There> there;
  there.reserve(places.size());
  for (const Place& place : places) there.push_back(CO_TRY(co_await look_at_once(place)));
  co_return there;
}

// Others may have changed a name while the last one was looked at.
bool BranchFiles::is_as_looked_at(const Place& at, const There& what) const {
  const OverlayNode* const folder = overlay().find(at.folder);
  if (folder == nullptr) return false;
  if (what.inode != 0 && overlay().find(what.inode) == nullptr) return false;
  const auto changed = folder->names.find(at.name);
  return changed == folder->names.end() || changed->second.inode == what.inode;
}

Async<BranchFiles::There> BranchFiles::look_at_once(Place at) {
  CO_TRY(check_name(at.name));
  CO_TRY(co_await adopt(at.folder));
  const OverlayNode& folder = *overlay().find(at.folder);
  if (!folder.is_folder()) co_return refused(Refusal::kNotFolder, "that is no folder");
  if (!folder.has_name()) co_return no_entry(at.name);
  There there;
  const auto changed = folder.names.find(at.name);
  if (changed != folder.names.end()) {
    there.inode = changed->second.inode;
  } else {
    there.inode = CO_TRY(co_await name_in_base(at)).value_or(0);
  }
  if (there.inode == 0) co_return there;
  if (overlay().find(there.inode) == nullptr) {
    const std::uint64_t rebased = rebased_;
    const volume::Node node = CO_TRY(co_await node_in_base(there.inode));
    const bool is_as_it_was = rebased_ == rebased && overlay().find(there.inode) == nullptr;
    if (node.links == 1 && is_as_it_was) places_.insert_or_assign(there.inode, at);
    CO_TRY(co_await adopt(there.inode));
  }
  const OverlayNode* const node = overlay().find(there.inode);
  if (node == nullptr || !node->is_folder() || node->is_new) co_return there;
  const std::shared_ptr<volume::Snapshot> snapshot = base_.snapshot;
  for (auto& entry : CO_TRY(co_await snapshot->list(there.inode, "", kAllEntries))) {
    there.base_names.push_back(std::move(entry.name));
  }
  co_return there;
}

bool BranchFiles::is_empty(const There& folder) const {
  CHECK(overlay().find(folder.inode)->is_folder(), "only a folder can be empty");
  const auto& names = overlay().find(folder.inode)->names;
  const bool has_new = std::any_of(names.begin(), names.end(),
                                   [](const auto& each) { return each.second.inode != 0; });
  return !has_new && std::all_of(folder.base_names.begin(), folder.base_names.end(),
                                 [&names](const auto& name) { return names.contains(name); });
}

bool BranchFiles::is_below(Inode inode, Inode folder) const {
  for (Inode at = inode; at != volume::kRootInode;) {
    if (at == folder) return true;
    const OverlayNode* const node = overlay().find(at);
    if (node == nullptr || node->places.empty()) return false;
    at = node->places.begin()->folder;
  }
  return false;
}

// --- Changing.

Async<FileFound> BranchFiles::create(Asker asker, Place at, NewNode node) {
  const std::vector<There> there = CO_TRY(co_await look_at({at}));
  if (const std::optional<Inode> made = overlay().answer_of(asker.request)) {
    co_return FileFound{*made, CO_TRY(co_await attributes(*made))};
  }
  if (there[0].inode != 0) {
    co_return refused(Refusal::kExists, "there is a '" + at.name + "' already");
  }
  const Inode inode = last_inode_ + 1;
  CO_TRY(change(asker, Create{.at = at,
                              .inode = inode,
                              .kind = node.kind,
                              .mode = node.mode,
                              .owner = node.owner,
                              .group = node.group,
                              .target = std::move(node.target),
                              .when = clock_()}));
  last_inode_ = inode;
  note_place(inode);
  co_return found(inode);
}

Async<FileFound> BranchFiles::link(Asker asker, Inode inode, Place at) {
  std::vector<There> there;
  do {  // A publish may let go of it meanwhile.
    CO_TRY(co_await adopt(inode));
    there = CO_TRY(co_await look_at({at}));
  } while (overlay().find(inode) == nullptr);
  if (overlay().answer_of(asker.request)) co_return found(inode);
  const OverlayNode& node = *overlay().find(inode);
  if (node.is_folder()) {
    co_return refused(Refusal::kNoSecondName, "a folder can have no second name");
  }
  if (!node.has_name()) co_return no_entry(at.name);
  if (node.places.size() >= kNamesMax) {
    co_return refused(Refusal::kTooManyNames, "a file has as many names as it may have");
  }
  if (there[0].inode != 0) {
    co_return refused(Refusal::kExists, "there is a '" + at.name + "' already");
  }
  CO_TRY(change(asker, Link{inode, at, clock_()}));
  note_place(inode);
  co_return found(inode);
}

Async<void> BranchFiles::remove(Asker asker, Place at, NodeKind kind) {
  const std::vector<There> there = CO_TRY(co_await look_at({at}));
  if (overlay().answer_of(asker.request)) co_return {};
  const Inode inode = there[0].inode;
  if (inode == 0) co_return no_entry(at.name);
  const bool is_folder = overlay().find(inode)->is_folder();
  if (kind == NodeKind::kFolder && !is_folder) {
    co_return refused(Refusal::kNotFolder, "'" + at.name + "' is no folder");
  }
  if (kind != NodeKind::kFolder && is_folder) {
    co_return refused(Refusal::kIsFolder, "'" + at.name + "' is a folder");
  }
  if (is_folder && !is_empty(there[0])) {
    co_return refused(Refusal::kNotEmpty, "'" + at.name + "' is not empty");
  }
  CO_TRY(change(asker, Unlink{at, inode, clock_()}));
  note_place(inode);
  co_return {};
}

// In the order of Linux.
Result<void> BranchFiles::check_rename(const Place& from, const Place& to, const There& moved,
                                       const There& replaced, RenameMode how) const {
  const bool is_there = replaced.inode != 0;
  const bool exchanges = how == RenameMode::kExchange;
  if (how == RenameMode::kNoReplace && is_there) {
    return refused(Refusal::kExists, "there is a '" + to.name + "' already");
  }
  if (exchanges && !is_there) return no_entry(to.name);
  const bool is_folder = overlay().find(moved.inode)->is_folder();
  const bool was_folder = is_there && overlay().find(replaced.inode)->is_folder();
  const bool is_above = was_folder && is_below(from.folder, replaced.inode);
  if ((is_folder && is_below(to.folder, moved.inode)) || (exchanges && is_above)) {
    return refused(Refusal::kIntoItself, "a folder would be below itself");
  }
  const bool is_filled = is_above || (is_folder && was_folder && !is_empty(replaced));
  if (!exchanges && is_filled) {
    return refused(Refusal::kNotEmpty, "'" + to.name + "' is not empty");
  }
  if (exchanges || !is_there || is_folder == was_folder) return {};
  return is_folder ? refused(Refusal::kNotFolder, "'" + to.name + "' is no folder")
                   : refused(Refusal::kIsFolder, "'" + to.name + "' is a folder");
}

Async<void> BranchFiles::rename(Asker asker, Place from, Place to, RenameMode how) {
  const std::vector<There> there = CO_TRY(co_await look_at({from, to}));
  if (overlay().answer_of(asker.request)) co_return {};
  const There& moved = there[0];
  const There& replaced = there[1];
  if (moved.inode == 0) co_return no_entry(from.name);
  if (moved.inode == replaced.inode && how != RenameMode::kNoReplace) co_return {};
  CO_TRY(check_rename(from, to, moved, replaced, how));
  CO_TRY(change(asker, Rename{.from = from,
                              .to = to,
                              .moved = moved.inode,
                              .replaced = replaced.inode,
                              .exchanges = how == RenameMode::kExchange,
                              .when = clock_()}));
  note_place(moved.inode);
  note_place(replaced.inode);
  co_return {};
}

Async<void> BranchFiles::write(Inode file, std::uint64_t offset, std::string bytes, Asker asker) {
  if (offset > kFileBytesMax || bytes.size() > kFileBytesMax - offset) {
    co_return refused(Refusal::kTooLong, "a file would be too long");
  }
  CO_TRY(co_await adopt(file));
  if (!overlay().find(file)->is_file()) {
    co_return refused(Refusal::kIsFolder, "only a file is written to");
  }
  for (std::size_t at = 0; at < bytes.size(); at += Write::kBytesMax) {
    CO_TRY(change(asker, Write{file, offset + at, clock_(), bytes.substr(at, Write::kBytesMax)}));
  }
  co_return {};
}

Async<FileAttributes> BranchFiles::set_attributes(Inode inode, NewAttributes what, Asker asker) {
  CO_TRY(co_await adopt(inode));
  const bool has_more = what.mode || what.owner || what.group || what.modified || what.accessed;
  if (what.size) {
    if (!overlay().find(inode)->is_file()) {
      co_return refused(Refusal::kIsFolder, "only a file has a length");
    }
    if (*what.size > kFileBytesMax) {
      co_return refused(Refusal::kTooLong, "a file would be too long");
    }
    CO_TRY(change(asker, Truncate{inode, *what.size, clock_()}));
  }
  if (has_more) {
    CO_TRY(change(asker, SetAttributes{.inode = inode,
                                       .mode = what.mode,
                                       .owner = what.owner,
                                       .group = what.group,
                                       .modified = what.modified,
                                       .accessed = what.accessed,
                                       .when = clock_()}));
  }
  co_return attributes_of(*overlay().find(inode));
}

Async<void> BranchFiles::commit(Inode file) {
  const OverlayNode* const node = overlay().find(file);
  if (node == nullptr || !node->is_file()) co_return {};
  if (!node->content.has_uncommitted() && node->content.is_committed()) co_return {};
  CO_TRY(change({}, Commit{file}));
  co_return {};
}

Result<void> BranchFiles::forget(Inode inode) {
  places_.erase(inode);
  const OverlayNode* const node = overlay().find(inode);
  const bool is_gone = node != nullptr && !node->has_name() && !node->is_closed;
  if (is_gone) TRY(change({}, Closed{inode}));
  return {};
}

}  // namespace runnel::writing
