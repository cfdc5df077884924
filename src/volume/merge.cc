#include "volume/merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "volume/branch_session.h"
#include "volume/kept_session.h"
#include "volume/version_difference.h"

namespace runnel::volume {
namespace {

bool is_folder(const std::optional<Snapshot::Found>& found) {
  return found && found->node.kind == NodeKind::kFolder;
}

// What branches have changed together.
class BranchChanges {
 public:
  struct Change {
    PathChange what;
    std::string branch;  // The first one that has made it.
  };
  using All = std::map<std::string, Change>;

  const All& all() const { return all_; }

  // kConflict when another branch has made something else of a path.
  Result<void> add(const std::string& branch, const VersionDifference& difference) {
    for (const auto& [path, change] : difference) {
      TRY(check_above(branch, path, change));
      if (!is_folder(change.after)) TRY(check_below(branch, path));
      const auto [there, is_first] = all_.try_emplace(path, Change{change, branch});
      if (!is_first && !is_same(there->second.what.after, change.after)) {
        return conflict(path, there->second.branch, branch);
      }
    }
    return {};
  }

 private:
  static bool is_same(const std::optional<Snapshot::Found>& one,
                      const std::optional<Snapshot::Found>& other) {
    if (!one || !other) return one.has_value() == other.has_value();
    return is_same_node(one->node, other->node);
  }

  static Error conflict(const std::string& path, const std::string& one, const std::string& other) {
    return Error(Errc::kConflict, "branches '" + one + "' and '" + other +
                                      "' have written different things to '" + path + "'")
        .with_field("path")
        .with_value(path)
        .with_hint("let each task write files of its own; what they wrote is kept in the branches");
  }

  // Nobody else has removed or replaced a folder in which it has changed something.
  Result<void> check_above(const std::string& branch, const std::string& path,
                           const PathChange& change) const {
    if (!change.after) return {};
    for (std::size_t end = path.find('/'); end != std::string::npos;
         end = path.find('/', end + 1)) {
      const auto above = all_.find(path.substr(0, end));
      const bool is_in_the_way = above != all_.end() && above->second.branch != branch &&
                                 !is_folder(above->second.what.after);
      if (is_in_the_way) return conflict(above->first, above->second.branch, branch);
    }
    return {};
  }

  // Nobody else has changed something in a folder that it has removed or replaced.
  Result<void> check_below(const std::string& branch, const std::string& path) const {
    const std::string prefix = path + "/";
    for (auto below = all_.lower_bound(prefix);
         below != all_.end() && below->first.starts_with(prefix); ++below) {
      const bool is_kept = below->second.what.after.has_value() && below->second.branch != branch;
      if (is_kept) return conflict(path, below->second.branch, branch);
    }
    return {};
  }

  All all_;
};

class Merge {
 public:
  Merge(Volume& volume, MergeOptions options, async::StopToken stop)
      : volume_(volume), options_(std::move(options)), stop_(std::move(stop)) {}

  Async<void> add(SeenBranch branch) {
    Snapshot base = CO_TRY(co_await volume_.pinned_snapshot(branch.record().base));
    Snapshot now = CO_TRY(co_await volume_.pinned_snapshot(branch.record().pin));
    bases_.insert(base.manifest().tree);
    const VersionDifference difference = CO_TRY(co_await difference_of(base, now, stop_));
    for (const auto& [path, change] : difference) CO_TRY(co_await take(path, change, now));
    co_return changes_.add(branch.name(), difference);
  }

  Async<Manifest> publish() {
    co_return co_await volume_.publish_checked(
        edit_, {options_.message, options_.origin,
                [this](Snapshot& newest) { return check_against(newest); }});
  }

 private:
  // What two branches have changed alike is the last one's.
  Async<void> take(std::string path, const PathChange& change, Snapshot& now) {
    std::vector<std::string> parts = CO_TRY(path_parts(path));
    const std::string name = parts.back();
    Edit& folder = folder_at(edit_, parent_path(std::move(parts)), volume_.wall());
    Edit& entry = folder.entries[name];
    if (!change.after) {
      entry.gone = true;
      co_return {};
    }
    Node node = change.after->node;
    if (node.kind == NodeKind::kFile) {
      node.extents = CO_TRY(co_await now.extents(change.after->inode, node));
    }
    const bool was_folder = is_folder(change.before);
    entry.renews = was_folder && node.kind == NodeKind::kFolder;
    entry.exact = node.kind != NodeKind::kFolder || (change.before && !was_folder);
    entry.node = std::move(node);
    co_return {};
  }

  // A version that is to become another one by the edit.
  Async<void> check_against(Snapshot& newest) {
    const bool is_base = bases_.size() == 1 && bases_.contains(newest.manifest().tree);
    if (is_base) co_return {};
    for (const auto& [path, change] : changes_.all()) {
      CO_TRY(stop_.check());
      const Result<Snapshot::Found> found = co_await newest.at(path);
      if (!found.ok() && found.error().code != Errc::kNotFound) co_return found.error();
      const auto there = found.ok() ? std::optional(*found) : std::nullopt;
      const bool is_well = is_as(there, change.what.before, change.what) ||
                           is_as(there, change.what.after, change.what);
      if (!is_well) co_return has_changed(path, change.branch);
    }
    co_return {};
  }

  // A folder that goes has to have what it had: it goes with all of it.
  static bool is_as(const std::optional<Snapshot::Found>& there,
                    const std::optional<Snapshot::Found>& wanted, const PathChange& change) {
    if (!there || !wanted) return there.has_value() == wanted.has_value();
    if (!is_same_node(there->node, wanted->node)) return false;
    const bool stays = is_folder(change.after) && (is_folder(change.before) || !change.before);
    return stays || there->node.kind != NodeKind::kFolder || there->node.hash == wanted->node.hash;
  }

  Error has_changed(const std::string& path, const std::string& branch) const {
    return Error(Errc::kConflict, "branch '" + branch + "' has written '" + path +
                                      "', which volume '" + volume_.name() +
                                      "' has otherwise by now than the version that it comes of")
        .with_field("path")
        .with_value(path)
        .with_hint("see who wrote it: runnel volume versions " + volume_.name() +
                   "; what the branch has is kept");
  }

  Volume& volume_;
  const MergeOptions options_;
  const async::StopToken stop_;
  BranchChanges changes_;
  Edit edit_ = Edit::folder();
  std::set<hash::Digest> bases_;  // The trees of the branches' bases.
};

// The version that this merge has made; none.
Async<std::optional<std::string>> find_made(Volume& volume, std::string origin) {
  const std::vector<VersionPlace> recent = volume.head().recent;
  for (const VersionPlace& place : recent) {
    const Result<Manifest> manifest = co_await volume.manifest_at(place);
    const bool was_dropped = !manifest.ok() && manifest.error().code == Errc::kNotFound;
    if (was_dropped) continue;
    CO_TRY(Result<Manifest>(manifest));
    if (manifest->origin == origin) co_return std::optional(manifest->version);
  }
  co_return std::optional<std::string>();
}

// What the branches themselves say.
std::optional<std::string> merged_of(const std::vector<SeenBranch>& branches) {
  for (const SeenBranch& branch : branches) {
    if (!branch.record().merged.empty()) return branch.record().merged;
  }
  return std::nullopt;
}

Async<std::vector<SeenBranch>> find_all(Volume& volume, std::vector<std::string> names) {
  std::vector<SeenBranch> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back(CO_TRY(co_await find_branch(volume, name)));
  co_return all;
}

Result<void> check_sealed(const std::vector<SeenBranch>& branches) {
  for (const SeenBranch& branch : branches) {
    if (branch.record().sealed) continue;
    return Error(Errc::kPrecondition, "branch '" + branch.name() + "' is still written to")
        .with_field("branch")
        .with_value(branch.name())
        .with_hint("merge it when whoever writes it has ended");
  }
  return {};
}

Async<std::string> merge_now(Volume& volume, std::vector<SeenBranch> branches, MergeOptions options,
                             async::StopToken stop) {
  Merge merge(volume, std::move(options), std::move(stop));
  for (SeenBranch& branch : branches) CO_TRY(co_await merge.add(std::move(branch)));
  const Manifest made = CO_TRY(co_await merge.publish());
  co_return made.version;
}

Async<std::string> merge_in_session(async::EventLoop& loop, Volume& volume,
                                    std::vector<SeenBranch> branches, MergeOptions options,
                                    async::StopToken stop) {
  CO_TRY(co_await volume.begin_writing(volume.processes().this_one("merge")));
  const Result<std::string> merged = co_await with_session<std::string>(
      loop, volume, [] { return std::set<std::string>(); },
      [&](async::StopToken token) {
        return merge_now(volume, branches, options, std::move(token));
      },
      std::move(stop));
  if (merged.ok()) co_return merged;
  // Another process may have made it meanwhile.
  CO_TRY(co_await volume.refresh());
  const auto made = CO_TRY(co_await find_made(volume, options.origin));
  co_return made ? Result<std::string>(*made) : merged;
}

}  // namespace

Async<std::string> merge_branches(async::EventLoop& loop, Volume& volume,
                                  std::vector<std::string> names, MergeOptions options,
                                  async::StopToken stop) {
  CO_TRY(co_await volume.refresh());
  const std::vector<SeenBranch> branches = CO_TRY(co_await find_all(volume, std::move(names)));
  std::optional<std::string> made = merged_of(branches);
  if (!made) made = CO_TRY(co_await find_made(volume, options.origin));
  if (!made) {
    CO_TRY(check_sealed(branches));
    made = CO_TRY(
        co_await merge_in_session(loop, volume, branches, std::move(options), std::move(stop)));
  }
  for (const SeenBranch& branch : branches) {
    const bool says_so = !branch.record().merged.empty() || !branch.record().sealed;
    if (!says_so) (void)CO_TRY(co_await mark_merged(volume, branch, *made));
  }
  co_return *made;
}

Async<void> remove_merged(Volume& volume, std::vector<std::string> names) {
  for (SeenBranch& branch : CO_TRY(co_await see_branches(volume))) {
    const bool is_it = std::ranges::find(names, branch.name()) != names.end();
    if (!is_it || branch.record().merged.empty()) continue;
    (void)CO_TRY(co_await remove_branch(volume, std::move(branch)));
  }
  co_return {};
}

}  // namespace runnel::volume
