#include "volume/version_difference.h"

#include <utility>
#include <vector>

namespace runnel::volume {
namespace {

constexpr std::size_t kEntriesOfFolder = 4'096;

std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

class VersionComparison {
 public:
  VersionComparison(Snapshot& before, Snapshot& after, async::StopToken stop)
      : before_(before), after_(after), stop_(std::move(stop)) {}

  Async<VersionDifference> run() {
    if (before_.manifest().tree == after_.manifest().tree) co_return VersionDifference();
    CO_TRY(co_await compare(kRootInode, kRootInode, ""));
    co_return std::move(found_);
  }

 private:
  using Entries = std::map<std::string, Name>;

  Async<void> compare(Inode before, Inode after, std::string path) {
    CO_TRY(stop_.check());
    CO_TRY(walked_before_.enter(before));
    CO_TRY(walked_after_.enter(after));
    const Entries was = CO_TRY(co_await entries_of(before_, before));
    const Entries is = CO_TRY(co_await entries_of(after_, after));
    for (const auto& [name, entry] : was) {
      if (is.contains(name)) continue;
      const Node node = CO_TRY(co_await before_.node(entry.inode));
      found_[below(path, name)] = {Snapshot::Found{entry.inode, node}, std::nullopt};
    }
    for (const auto& [name, entry] : is) {
      const auto old = was.find(name);
      Snapshot::Found now{entry.inode, CO_TRY(co_await after_.node(entry.inode))};
      if (old == was.end()) {
        CO_TRY(co_await add(below(path, name), std::nullopt, std::move(now)));
        continue;
      }
      Snapshot::Found then{old->second.inode, CO_TRY(co_await before_.node(old->second.inode))};
      CO_TRY(co_await compare_both(below(path, name), std::move(then), std::move(now)));
    }
    co_return {};
  }

  Async<void> compare_both(std::string path, Snapshot::Found then, Snapshot::Found now) {
    const bool are_folders =
        then.node.kind == NodeKind::kFolder && now.node.kind == NodeKind::kFolder;
    const bool is_same = is_same_node(then.node, now.node);
    if (!are_folders && is_same) co_return {};
    if (!are_folders) co_return co_await add(std::move(path), std::move(then), std::move(now));
    const Inode before = then.inode;
    const Inode after = now.inode;
    const bool has_same_entries = then.node.hash == now.node.hash;
    if (!is_same) found_[path] = {std::move(then), std::move(now)};
    if (!has_same_entries) CO_TRY(co_await compare(before, after, std::move(path)));
    co_return {};
  }

  // What has come, with all that is below it.
  Async<void> add(std::string path, std::optional<Snapshot::Found> then, Snapshot::Found now) {
    const Inode inode = now.inode;
    const bool is_folder = now.node.kind == NodeKind::kFolder;
    found_[path] = {std::move(then), std::move(now)};
    if (!is_folder) co_return {};
    CO_TRY(stop_.check());
    CO_TRY(walked_after_.enter(inode));
    for (const auto& [name, entry] : CO_TRY(co_await entries_of(after_, inode))) {
      Node node = CO_TRY(co_await after_.node(entry.inode));
      CO_TRY(co_await add(below(path, name), std::nullopt, {entry.inode, std::move(node)}));
    }
    co_return {};
  }

  static Async<Entries> entries_of(Snapshot& version, Inode folder) {
    Entries all;
    for (std::string after;;) {
      const auto some = CO_TRY(co_await version.list(folder, after, kEntriesOfFolder));
      if (some.empty()) co_return all;
      after = some.back().name;
      for (const Snapshot::Entry& entry : some) all.emplace(entry.name, entry.what);
    }
  }

  Snapshot& before_;
  Snapshot& after_;
  const async::StopToken stop_;
  WalkedFolders walked_before_;
  WalkedFolders walked_after_;
  VersionDifference found_;
};

}  // namespace

bool is_same_node(const Node& one, const Node& other) {
  if (one.kind != other.kind || one.mode != other.mode) return false;
  switch (one.kind) {
    case NodeKind::kFile: return one.size == other.size && one.hash == other.hash;
    case NodeKind::kLink: return one.target == other.target;
    case NodeKind::kFolder: break;
  }
  return true;
}

Async<VersionDifference> difference_of(Snapshot& before, Snapshot& after, async::StopToken stop) {
  VersionComparison comparison(before, after, std::move(stop));
  co_return co_await comparison.run();
}

}  // namespace runnel::volume
