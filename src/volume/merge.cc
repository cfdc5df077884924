#include "volume/merge.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
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
    CO_TRY(changes_.add(branch.name(), difference));
    branches_.push_back(std::move(branch));
    co_return {};
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
    node.links = 1;  // Each name is a file of its own.
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
    CO_TRY(co_await check_there());
    const bool is_base = bases_.size() == 1 && bases_.contains(newest.manifest().tree);
    if (is_base) co_return {};
    std::set<std::string> folders;
    for (const auto& [path, change] : changes_.all()) {
      CO_TRY(stop_.check());
      if (!CO_TRY(co_await has_folders_above(newest, path, folders))) {
        co_return has_changed(path, change.branch);
      }
      const Result<Snapshot::Found> found = co_await newest.at(path);
      if (!found.ok() && found.error().code != Errc::kNotFound) co_return found.error();
      const auto there = found.ok() ? std::optional(*found) : std::nullopt;
      const bool is_well = is_as(there, change.what.before, change.what) ||
                           is_as(there, change.what.after, change.what);
      if (!is_well) co_return has_changed(path, change.branch);
    }
    co_return {};
  }

  // What is taken over is kept by the branches alone until the head has it.
  Async<void> check_there() {
    for (const SeenBranch& branch : branches_) {
      const std::string& key = branch.session.key;
      const auto there = CO_TRY(co_await volume_.see_session(key.substr(key.rfind('/') + 1)));
      const bool is_same = there && there->record && there->record->kind == kBranchKind &&
                           there->record->pin == branch.record().pin;
      if (is_same) continue;
      co_return Error(Errc::kConflict, "branch '" + branch.name() +
                                           "' was removed or written to while it was merged")
          .with_field("branch")
          .with_value(branch.name())
          .with_hint("run it again");
    }
    co_return {};
  }

  // Whether the folders above it that no branch has made are there. `known`: those that were seen.
  Async<bool> has_folders_above(Snapshot& newest, std::string path, std::set<std::string>& known) {
    for (std::size_t end = path.find('/'); end != std::string::npos;
         end = path.find('/', end + 1)) {
      std::string above = path.substr(0, end);
      if (known.contains(above) || changes_.all().contains(above)) continue;
      const Result<Snapshot::Found> found = co_await newest.at(above);
      const bool is_there = found.ok() && found->node.kind == NodeKind::kFolder;
      const bool is_error = !found.ok() && found.error().code != Errc::kNotFound;
      if (is_error) co_return found.error();
      if (!is_there) co_return false;
      known.insert(std::move(above));
    }
    co_return true;
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
  std::vector<SeenBranch> branches_;
  std::set<hash::Digest> bases_;  // The trees of the branches' bases.
};

using IsOrigin = std::function<bool(std::string_view)>;

// The version that a merge has made; none.
Async<std::optional<std::string>> find_made(Volume& volume, IsOrigin is_it) {
  const std::vector<VersionPlace> recent = volume.head().recent;
  for (const VersionPlace& place : recent) {
    const Result<Manifest> manifest = co_await volume.manifest_at(place);
    const bool was_dropped = !manifest.ok() && manifest.error().code == Errc::kNotFound;
    if (was_dropped) continue;
    CO_TRY(Result<Manifest>(manifest));
    if (is_it(manifest->origin)) co_return std::optional(manifest->version);
  }
  co_return std::optional<std::string>();
}

Async<std::optional<std::string>> find_made(Volume& volume, const std::string& origin) {
  return find_made(volume, [origin](std::string_view each) { return each == origin; });
}

// The version that has branches of which not all are there any more: others say that they are in
// it. None: there is none.
Async<std::optional<std::string>> find_removed(Volume& volume, std::vector<std::string> names,
                                               std::string name) {
  const auto has_name = [prefix = name + " "](std::string_view origin) {
    return origin.starts_with(prefix);
  };
  const std::optional<std::string> made = CO_TRY(co_await find_made(volume, IsOrigin(has_name)));
  if (!made) co_return made;
  for (const SeenBranch& branch : CO_TRY(co_await see_branches(volume))) {
    const bool is_one = std::ranges::find(names, branch.name()) != names.end();
    if (is_one && branch.record().merged != *made) co_return std::optional<std::string>();
  }
  co_return made;
}

// The same branches as they are now; of one that has gone on since, another one.
std::string origin_of(const std::string& name, const std::vector<SeenBranch>& branches) {
  hash::Sha256 sum;
  for (const SeenBranch& branch : branches) {
    sum.add(branch.session.key).add(" ").add(branch.record().pin).add("\n");
  }
  return name + " " + hash::hex(sum.finish());
}

// What all of the branches say.
std::optional<std::string> merged_of(const std::vector<SeenBranch>& branches) {
  const std::string& first = branches.front().record().merged;
  const bool is_all = std::ranges::all_of(
      branches, [&first](const SeenBranch& each) { return each.record().merged == first; });
  return is_all && !first.empty() ? std::optional(first) : std::nullopt;
}

// One may be in another version than the others.
Result<void> check_unmerged(const std::vector<SeenBranch>& branches) {
  for (const SeenBranch& branch : branches) {
    if (branch.record().merged.empty()) continue;
    return Error(Errc::kConflict, "branch '" + branch.name() + "' is in version " +
                                      branch.record().merged + " already, and others are not")
        .with_field("branch")
        .with_value(branch.name())
        .with_hint("merge the others without it");
  }
  return {};
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
  CHECK(!names.empty(), "nothing is to be merged");
  const Result<std::vector<SeenBranch>> found = co_await find_branches(volume, names);
  if (options.is_only && !found.ok() && found.error().code == Errc::kNotFound) {
    const std::optional<std::string> has_all =
        CO_TRY(co_await find_removed(volume, std::move(names), options.origin));
    if (has_all) co_return *has_all;
  }
  const std::vector<SeenBranch> branches = CO_TRY(Result<std::vector<SeenBranch>>(found));
  options.origin = origin_of(options.origin, branches);
  std::optional<std::string> made = merged_of(branches);
  if (!made) made = CO_TRY(co_await find_made(volume, options.origin));
  if (!made) {
    CO_TRY(check_unmerged(branches));
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
