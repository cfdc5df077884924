#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "volume/snapshot.h"
#include "writing/overlay.h"

namespace runnel::writing {
namespace {

constexpr std::uint64_t kFileBytesMax = (std::uint64_t{1} << 63) - 1;

bool is_name(std::string_view name) { return !volume::fault_of_name(name); }

}  // namespace

// Applies one record. Each function looks at all first, and then changes.
class Overlay::Fold {
 public:
  Fold(Overlay& overlay, const LoggedRecord& logged)
      : of_(overlay), by_(logged.sequence), logged_(logged) {}

  Result<void> operator()(const Based& change) {
    if (of_.base_) return misfit("names a second base");
    of_.base_ = change.version;
    return {};
  }

  Result<void> operator()(const Adopt& change) {
    if (change.inode == 0 || of_.find(change.inode) != nullptr)
      return misfit("adopts a node twice");
    if (change.size > kFileBytesMax) return misfit("adopts a file that is too long");
    TRY(check_places(change));
    OverlayNode node;
    node.kind = change.kind;
    node.is_new = change.is_new;
    node.mode = change.mode;
    node.owner = change.owner;
    node.group = change.group;
    node.places = {change.places.begin(), change.places.end()};
    node.is_root = change.inode == volume::kRootInode;
    node.modified = change.modified;
    node.accessed = change.accessed;
    node.changed = change.changed;
    node.committed = change.modified;
    node.target = change.target;
    node.bytes_of = change.bytes_of;
    const bool has_bytes = !change.is_new || !change.bytes_of.empty();
    if (node.is_file() && has_bytes) node.content = Content::of_base(change.size);
    for (const Place& place : node.places) ++of_.places_in_[place.folder];
    of_.nodes_[change.inode] = std::make_shared<OverlayNode>(std::move(node));
    return {};
  }

  Result<void> operator()(const AdoptName& change) {
    TRY(check_folder(change.at.folder));
    if (!is_name(change.at.name)) return misfit("gives a name that is none");
    if (change.inode != 0) {
      TRY(check_node(change.inode));
      const bool is_its = of_.find(change.inode)->places.contains(change.at);
      if (!is_its) return misfit("gives a name that the node has not");
      to_change(change.inode).since = by_;
    }
    set_name(change.at, change.inode);
    return {};
  }

  Result<void> operator()(const Create& change) {
    TRY(check_new_name(change.at));
    if (change.inode == 0 || of_.find(change.inode) != nullptr) return misfit("makes a node twice");
    OverlayNode node;
    node.kind = change.kind;
    node.is_new = true;
    node.mode = change.mode;
    node.owner = change.owner;
    node.group = change.group;
    node.modified = node.accessed = node.changed = node.committed = change.when;
    node.target = change.target;
    node.places = {change.at};
    ++of_.places_in_[change.at.folder];
    node.since = by_;
    of_.nodes_[change.inode] = std::make_shared<OverlayNode>(std::move(node));
    change_name(change.at, change.inode, change.when);
    answer(change.inode);
    return {};
  }

  Result<void> operator()(const Write& change) {
    DataPlace place = logged_.end;
    place.offset -= change.bytes.size();
    return write(change.file, change.offset, change.bytes.size(), place, change.when);
  }
  Result<void> operator()(const WriteStaged& change) {
    return write(change.file, change.offset, change.length, change.place, change.when);
  }

  Result<void> operator()(const Truncate& change) {
    TRY(check_file(change.file));
    if (change.size > kFileBytesMax) return misfit("makes a file too long");
    OverlayNode& file = to_change(change.file);
    file.content.truncate(change.size, by_);
    modify(file, change.when);
    return {};
  }

  Result<void> operator()(const Rename& change) {
    TRY(check_name_of(change.from, change.moved));
    if (change.replaced == 0) {
      TRY(check_new_name(change.to));
    } else {
      TRY(check_name_of(change.to, change.replaced));
    }
    TRY(check_rename(change));
    TRY(check_lacks(change.moved, change.to));
    TRY(check_not_above(change.moved, change.to.folder));
    if (change.exchanges) TRY(check_not_above(change.replaced, change.from.folder));
    change_name(change.to, change.moved, change.when);
    change_name(change.from, change.exchanges ? change.replaced : 0, change.when);
    take_name(change.moved, change.from, change.when);
    give_name(change.moved, change.to);
    OverlayNode& moved = to_change(change.moved);
    // Programs replace a file by one that they have neither closed nor synced.
    if (change.replaced != 0 && moved.is_file()) commit(moved);
    if (change.replaced != 0) take_name(change.replaced, change.to, change.when);
    if (change.exchanges) give_name(change.replaced, change.from);
    answer(0);
    return {};
  }

  Result<void> operator()(const Link& change) {
    TRY(check_new_name(change.at));
    TRY(check_node(change.inode));
    const OverlayNode& node = *of_.find(change.inode);
    if (node.is_folder() || !node.has_name()) return misfit("names what can have no second name");
    TRY(check_lacks(change.inode, change.at));
    change_name(change.at, change.inode, change.when);
    touch(change.inode, change.when);
    give_name(change.inode, change.at);
    answer(0);
    return {};
  }

  Result<void> operator()(const Unlink& change) {
    TRY(check_name_of(change.at, change.inode));
    TRY(check_empty(change.inode));
    change_name(change.at, 0, change.when);
    take_name(change.inode, change.at, change.when);
    answer(0);
    return {};
  }

  Result<void> operator()(const SetAttributes& change) {
    TRY(check_node(change.inode));
    OverlayNode& node = touch(change.inode, change.when);
    if (change.mode) node.mode = *change.mode;
    if (change.owner) node.owner = change.owner;
    if (change.group) node.group = change.group;
    if (change.accessed) node.accessed = *change.accessed;
    if (change.modified) node.modified = *change.modified;
    if (change.modified && !node.content.has_uncommitted()) node.committed = node.modified;
    return {};
  }

  Result<void> operator()(const Commit& change) {
    TRY(check_file(change.file));
    commit(to_change(change.file));
    return {};
  }

  Result<void> operator()(const Closed& change) {
    TRY(check_node(change.inode));
    const OverlayNode& node = *of_.find(change.inode);
    if (node.has_name()) return misfit("closes a node that has a name");
    if (node.is_new && !is_being_published(change.inode)) {
      of_.nodes_.erase(change.inode);
    } else {
      to_change(change.inode).is_closed = true;  // A publish has still to remove it.
    }
    return {};
  }

  Result<void> operator()(const Answered& change) {
    answer(change.inode);
    return {};
  }

  Result<void> operator()(const Barrier& change) {
    of_.frozen_ =
        Frozen{.number = change.number, .sequence = by_, .publishing = {}, .nodes = of_.nodes_};
    return {};
  }

  Result<void> operator()(const Publishing& change) {
    TRY(check_frozen(change.barrier));
    of_.frozen_->publishing = change.version;
    return {};
  }

  Result<void> operator()(const Published& change) {
    TRY(check_frozen(change.barrier));
    const Frozen frozen = *std::exchange(of_.frozen_, std::nullopt);
    std::set<Inode> done;
    for (const auto& [inode, was] : frozen.nodes) {
      if (of_.nodes_.contains(inode) && settle(inode, *was, frozen)) done.insert(inode);
    }
    for (const auto& [inode, node] : of_.nodes_) {
      if (!done.contains(inode)) keep_above(*node, done);
    }
    for (const Inode inode : done) {
      for (const Place& place : of_.find(inode)->places) leave(place.folder);
      of_.nodes_.erase(inode);
    }
    of_.base_ = change.version;
    of_.published_until_ = frozen.sequence;
    return {};
  }

  Result<void> operator()(const CheckpointEnd&) { return misfit("is the log's own"); }

 private:
  Error misfit(const std::string& what) const {
    return {Errc::kCorrupt, "record " + std::to_string(by_) + " of a log " + what};
  }

  Result<void> check_node(Inode inode) const {
    if (of_.find(inode) != nullptr) return {};
    return misfit("is of node " + std::to_string(inode) + ", which nothing before it tells of");
  }
  Result<void> check_file(Inode inode) const {
    TRY(check_node(inode));
    return of_.find(inode)->is_file() ? Result<void>() : misfit("takes for a file what is none");
  }
  Result<void> check_folder(Inode inode) const {
    TRY(check_node(inode));
    return of_.find(inode)->is_folder() ? Result<void>()
                                        : misfit("takes for a folder what is none");
  }
  const OverlayName* name_at(const Place& at) const {
    const auto& names = of_.find(at.folder)->names;
    const auto found = names.find(at.name);
    return found == names.end() ? nullptr : &found->second;
  }
  // Folders come before what is in them.
  Result<void> check_places(const Adopt& change) const {
    const bool is_root = change.inode == volume::kRootInode;
    const bool is_folder = change.kind == volume::NodeKind::kFolder;
    if (is_root && !is_folder) return misfit("adopts a root that is no folder");
    if (is_root ? !change.places.empty() : is_folder && change.places.size() > 1) {
      return misfit("adopts a folder with too many names");
    }
    for (const Place& place : change.places) {
      TRY(check_folder(place.folder));
      if (!of_.find(place.folder)->has_name()) return misfit("is of a folder that is gone");
      if (!is_name(place.name)) return misfit("gives a name that is none");
    }
    return {};
  }
  Result<void> check_lacks(Inode inode, const Place& at) const {
    const bool has_it = of_.find(inode)->places.contains(at);
    return has_it ? misfit("gives a name that the node has") : Result<void>();
  }
  // A folder that would be in itself.
  Result<void> check_not_above(Inode moved, Inode folder) const {
    for (Inode at = folder; at != volume::kRootInode;) {
      if (at == moved) return misfit("moves a folder into itself");
      const OverlayNode* const node = of_.find(at);
      if (node == nullptr || node->places.empty()) return misfit("names a folder that is nowhere");
      at = node->places.begin()->folder;
    }
    return {};
  }
  // Where the overlay does not know it, the base has it so: who wrote the log had looked.
  Result<void> check_new_name(const Place& at) const {
    TRY(check_folder(at.folder));
    if (!is_name(at.name)) return misfit("gives a name that is none");
    if (!of_.find(at.folder)->has_name()) return misfit("gives a name in a folder that is gone");
    const OverlayName* const there = name_at(at);
    if (there != nullptr && there->inode != 0) return misfit("gives a name that is taken");
    return {};
  }
  Result<void> check_name_of(const Place& at, Inode inode) const {
    TRY(check_folder(at.folder));
    TRY(check_node(inode));
    const OverlayName* const there = name_at(at);
    if (there != nullptr && there->inode != inode) return misfit("takes a name for another node's");
    if (!of_.find(inode)->places.contains(at)) return misfit("takes a name that the node has not");
    return {};
  }
  // It is removed, or another one takes its name.
  Result<void> check_empty(Inode inode) const {
    const auto& names = of_.find(inode)->names;
    const bool is_empty = std::none_of(names.begin(), names.end(),
                                       [](const auto& each) { return each.second.inode != 0; });
    const bool is_left = of_.places_in_.contains(inode);
    return is_empty && !is_left ? Result<void>() : misfit("removes a folder that is not empty");
  }
  Result<void> check_rename(const Rename& change) const {
    if (change.from == change.to || change.moved == change.replaced) {
      return misfit("gives a node its own name");
    }
    if (change.exchanges) {
      return change.replaced != 0 ? Result<void>() : misfit("exchanges a name with nothing");
    }
    if (change.replaced == 0) return {};
    TRY(check_empty(change.replaced));
    const bool is_kind_kept =
        of_.find(change.moved)->is_folder() == of_.find(change.replaced)->is_folder();
    return is_kind_kept ? Result<void>() : misfit("replaces a folder by what is none");
  }
  Result<void> check_frozen(std::uint64_t barrier) const {
    if (of_.frozen_ && of_.frozen_->number == barrier) return {};
    return misfit("tells of barrier " + std::to_string(barrier) + ", which is not there");
  }

  bool is_being_published(Inode inode) const {
    if (!of_.frozen_) return false;
    const auto was = of_.frozen_->nodes.find(inode);
    return was != of_.frozen_->nodes.end() && was->second->is_in_version();
  }

  // What a barrier has is left as it is.
  OverlayNode& to_change(Inode inode) {
    NodePtr& node = of_.nodes_.at(inode);
    if (node.use_count() > 1) node = std::make_shared<OverlayNode>(*node);
    return const_cast<OverlayNode&>(*node);
  }
  OverlayNode& touch(Inode inode, Moment when) {
    OverlayNode& node = to_change(inode);
    node.changed = when;
    node.since = by_;
    return node;
  }
  void set_name(const Place& at, Inode inode) {
    to_change(at.folder).names[at.name] = {.inode = inode, .since = by_};
  }
  void change_name(const Place& at, Inode inode, Moment when) {
    set_name(at, inode);
    touch(at.folder, when).modified = when;
  }
  void take_name(Inode inode, const Place& at, Moment when) {
    const std::size_t taken = touch(inode, when).places.erase(at);
    CHECK(taken == 1, "a name is taken that the node has not");
    leave(at.folder);
  }
  void give_name(Inode inode, const Place& at) {
    const bool is_new = to_change(inode).places.insert(at).second;
    CHECK(is_new, "a name is given twice");
    ++of_.places_in_[at.folder];
  }
  void leave(Inode folder) {
    const auto found = of_.places_in_.find(folder);
    CHECK(found != of_.places_in_.end(), "a folder has less names than are taken of it");
    if (--found->second == 0) of_.places_in_.erase(found);
  }
  // Its bytes are not committed, or are what they were.
  void modify(OverlayNode& file, Moment when) {
    file.modified = file.changed = when;
    if (file.content.has_uncommitted()) return;
    file.committed = when;
    file.since = by_;
  }
  void commit(OverlayNode& file) {
    file.content.commit(by_);
    file.committed = file.modified;
    file.since = by_;
  }

  Result<void> write(Inode inode, std::uint64_t offset, std::uint64_t length, DataPlace place,
                     Moment when) {
    TRY(check_file(inode));
    if (offset > kFileBytesMax || length > kFileBytesMax - offset) {
      return misfit("makes a file too long");
    }
    OverlayNode& file = to_change(inode);
    file.content.write(offset, length, place, by_);
    modify(file, when);
    return {};
  }

  void answer(Inode made) {
    const RequestId request = logged_.record.request;
    if (request == RequestId{} || !of_.answers_.emplace(request, made).second) return;
    of_.answered_.push_back(request);
    if (of_.answered_.size() <= kAnswersMax) return;
    of_.answers_.erase(of_.answered_.front());
    of_.answered_.pop_front();
  }

  // Whoever publishes a node needs the folders above it.
  void keep_above(const OverlayNode& node, std::set<Inode>& done) const {
    for (const Place& place : node.places) {
      if (done.erase(place.folder) > 0) keep_above(*of_.find(place.folder), done);
    }
  }

  // What the version has that was just published is the base's from now on. Whether there is
  // nothing else of the node.
  bool settle(Inode inode, const OverlayNode& was, const Frozen& frozen) {
    OverlayNode& node = to_change(inode);
    if (was.is_in_version()) {
      node.is_new = false;
      node.content.become_base(was.content.committed_in());
    }
    if (!was.has_name() && !was.is_new) {
      node.is_new = true;
      node.bytes_of = of_.base_.value_or("");
    }
    std::erase_if(node.names, [&frozen](const auto& each) {
      const OverlayName& name = each.second;
      const auto named = frozen.nodes.find(name.inode);
      return name.since <= frozen.sequence &&
             (named == frozen.nodes.end() || named->second->is_in_version());
    });
    const bool is_as_base = !node.is_new && node.names.empty() && node.since <= frozen.sequence &&
                            (!node.is_file() || node.content.is_base());
    return is_as_base || (node.is_new && node.is_closed);
  }

  Overlay& of_;
  const Sequence by_;
  const LoggedRecord& logged_;
};

void Overlay::end_publish(const std::string& published) {
  if (!frozen_) return;
  if (published.empty()) return frozen_.reset();
  LoggedRecord told;
  told.record.change = Published{frozen_->number, published};
  told.sequence = frozen_->sequence;
  MUST(apply(told));
}

Result<void> Overlay::apply(const LoggedRecord& logged) {
  return std::visit(Fold(*this, logged), logged.record.change);
}

}  // namespace runnel::writing
