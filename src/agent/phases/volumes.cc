#include "agent/phases/volumes.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "agent/phases/shown_tree.h"
#include "base/check.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/process.h"
#include "env/read_only_tree.h"
#include "model/variables.h"

namespace runnel::agent {
namespace {

namespace fs = std::filesystem;

// A `get` that was killed or has failed may leave files under names of its own, and folders that
// have the modes of the version's already.
Result<void> go_on_with(const std::string& part) {
  constexpr std::string_view kBegun = ".runnel-part-";  // What `get` gives no name to yet.
  const auto failed = [&part](const std::error_code& code) {
    return errno_error("go on with the copy " + part, code.value());
  };
  CHECK(part.find("/tree.part-") != std::string::npos, "files are removed of a user's folder");
  if (!env::exists(part)) return {};
  std::error_code code;
  fs::permissions(part, fs::perms::owner_all, fs::perm_options::add, code);
  std::vector<fs::path> begun;
  fs::recursive_directory_iterator entry(part, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (entry->path().filename().string().starts_with(kBegun)) begun.push_back(entry->path());
    const bool is_folder = !entry->is_symlink(code) && entry->is_directory(code);
    if (is_folder)
      fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, code);
    if (code) return failed(code);
  }
  if (code) return failed(code);
  for (const fs::path& file : begun) TRY(env::remove_file(file));
  return {};
}

std::string target_of(const model::VolumeUse& use) { return use.volume + "@" + use.version; }

}  // namespace

const model::VolumeUse& VolumesPhase::only_one(const model::StartOrder& order) {
  CHECK(order.volumes.size() == 1, "each volume of an attempt has a turn of its own");
  return order.volumes.front();
}

std::vector<model::StartOrder> VolumesPhase::split(const model::StartOrder& order) const {
  std::vector<model::StartOrder> orders;
  for (const model::VolumeUse& use : order.volumes) {
    if (use.is_written()) continue;
    orders.push_back(order);
    orders.back().volumes = {use};
  }
  return orders;
}

std::string VolumesPhase::waits_for(const model::StartOrder& order) const {
  const model::VolumeUse& use = only_one(order);
  return "volume " + target_of(use) + " of " + use.store;
}

Result<Readiness> VolumesPhase::prepare(const NodeId& node, const model::StartOrder& order,
                                        Readiness so_far, PathTrail& trail) const {
  const model::VolumeUse& use = only_one(order);
  const VolumeCommand::Environment environment = TRY(command_.environment_for(node, order));
  const std::string place = mounts_.place_of(use);
  const std::string tree = UsedMounts::tree_of(place);
  trail.follow(tree);
  // The volume may have been repaired since: the version is at other places then.
  if (UsedMounts::is_damaged(place)) {
    TRY(mounts_.remove(place, {node, order.attempt}));
    (void)end_unused(place, shown_in(place));
  }
  TRY(mounts_.add(place, {node, order.attempt}));
  Result<void> shown = show(use, environment);
  if (!shown.ok()) {
    Error error = std::move(shown).error();
    const bool is_gone = error.code == Errc::kInvalid;
    const bool lacks_keys = error.code == Errc::kDenied;
    error.message = "volume " + target_of(use) +
                    (is_gone ? " is not there, as it was when the job was submitted (a tag keeps a "
                               "version): "
                     : lacks_keys ? " cannot be read by this job: "
                                  : " cannot be read now: ") +
                    error.message;
    if (lacks_keys) error.code = Errc::kInvalid;  // For good: `retry` brings those of its shell.
    return std::move(error).with_field("volumes." + use.name);
  }
  so_far.volumes.emplace_back(model::volume_variable(use.name), tree);
  return so_far;
}

Result<void> VolumesPhase::show(const model::VolumeUse& use,
                                const VolumeCommand::Environment& environment) const {
  const std::string place = mounts_.place_of(use);
  // Of several attempts that begin with it, one mounts or copies.
  const env::FileLock lock = TRY(UsedMounts::lock_showing(place, kCopiesWithin));
  switch (shown_in(place)) {
    case Shown::kMount:
    case Shown::kCopy: return {};
    case Shown::kNothing: TRY(mounts_.clear_tree(place)); break;
    case Shown::kDeadMount: break;
  }
  if (!can_mount(fuse_)) return copy(use, environment);
  TRY(command_.run({"mount", target_of(use), UsedMounts::tree_of(place), "--store", use.store,
                    "--detach", "--while-used", place},
                   environment, kMountsWithin));
  return {};
}

// Whole or not at all, and for no task to change: others read it as the version, too.
Result<void> VolumesPhase::copy(const model::VolumeUse& use,
                                const VolumeCommand::Environment& environment) const {
  const std::string place = mounts_.place_of(use);
  const std::string tree = UsedMounts::tree_of(place);
  // Of this boot: what one before it got may never have come to the disk.
  const std::string boot = TRY(env::boot_id());
  const std::string part = tree + ".part-" + boot;
  const std::string whole = tree + ".whole-" + boot;
  if (!env::exists(whole)) {
    TRY(go_on_with(part));
    TRY(command_.run({"get", target_of(use), part, "--store", use.store}, environment,
                     kCopiesWithin));
    TRY(env::rename_file(part, whole));
  }
  TRY(env::make_tree_read_only(whole));
  TRY(UsedMounts::mark_copy(place));
  return env::rename_file(whole, tree);
}

Result<void> VolumesPhase::undo(const NodeId& node, const model::StartOrder& order,
                                PathTrail& trail) const {
  const model::VolumeUse& use = only_one(order);
  const std::string place = mounts_.place_of(use);
  trail.follow(place);
  TRY(mounts_.remove(place, {node, order.attempt}));
  return end_unserved(place);
}

std::string VolumesPhase::likely_cause(const model::StartOrder& order, Time begun) const {
  const model::VolumeUse& use = only_one(order);
  const std::optional<std::string> noted = UsedMounts::noted(mounts_.place_of(use), begun);
  return noted ? "volume " + target_of(use) + " could not be read whole: " + *noted : "";
}

// A mount that is served ends by its holder, once unused for a while; without one, here.
Result<void> VolumesPhase::end_unserved(const std::string& place) const {
  if (!env::exists(place) || TRY(UsedMounts::is_used(place))) return {};
  const Shown shown = shown_in(place);
  if (shown == Shown::kMount && UsedMounts::is_held(place)) return {};
  return end_unused(place, shown);
}

Result<void> VolumesPhase::end_unused(const std::string& place, Shown shown) const {
  // Under the lock of all uses: who begins to use it meanwhile does so before or after.
  const auto end = [&]() -> Result<void> {
    std::vector<std::string> unmount{"umount", UsedMounts::tree_of(place)};
    if (shown == Shown::kDeadMount) unmount.emplace_back("--lazy");
    if (!is_mount(shown)) return mounts_.clear_tree(place);
    TRY(command_.run(unmount, env::environment(), kMountsWithin));
    return {};
  };
  TRY(mounts_.remove_unused(place, end));
  return {};
}

// Left by mounts whose holder and server were killed after their last use.
Result<void> VolumesPhase::sweep(PathTrail& trail) const {
  Result<void> swept;
  for (const std::string& place : TRY(mounts_.places())) {
    trail.follow(place);
    const Result<void> ended = end_unserved(place);
    if (swept.ok()) swept = ended;
  }
  return swept;
}

}  // namespace runnel::agent
