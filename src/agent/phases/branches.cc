#include "agent/phases/branches.h"

#include "base/check.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/process.h"
#include "model/variables.h"

namespace runnel::agent {

std::vector<model::StartOrder> BranchesPhase::split(const model::StartOrder& order) const {
  std::vector<model::StartOrder> orders;
  if (order.branch.empty()) return orders;
  for (const model::VolumeUse& use : order.volumes) {
    if (!use.is_written()) continue;
    for (std::int32_t rank = 0; rank < order.rank_count; ++rank) {
      model::StartOrder& each = orders.emplace_back(order);
      each.volumes = {use};
      each.first_rank = order.first_rank + rank;
      each.rank_count = 1;
    }
  }
  return orders;
}

const model::VolumeUse& BranchesPhase::only_one(const model::StartOrder& order) {
  CHECK(order.volumes.size() == 1 && order.rank_count == 1,
        "each branch of an attempt has a turn of its own");
  return order.volumes.front();
}

std::string BranchesPhase::branch_of(const model::StartOrder& order) {
  CHECK(!order.branch.empty(), "an order that writes nothing is passed to who mounts branches");
  return model::branch_of_rank(order.branch, order.first_rank, order.world_size);
}

std::string BranchesPhase::place_of(const model::StartOrder& order) const {
  return mounts_.place_of_branch(only_one(order), branch_of(order), order.attempt.attempt);
}

std::string BranchesPhase::waits_for(const model::StartOrder& order) const {
  const model::VolumeUse& use = only_one(order);
  return "volume " + use.volume + " of " + use.store;
}

Result<Readiness> BranchesPhase::prepare(const NodeId& node, const model::StartOrder& order,
                                         Readiness so_far, PathTrail& trail) const {
  const model::VolumeUse& use = only_one(order);
  const std::string place = place_of(order);
  const std::string tree = UsedMounts::tree_of(place);
  trail.follow(tree);
  const auto failed = [&use](Error error) {
    error.message = "volume " + use.volume + " cannot be written by this job" +
                    (error.code == Errc::kInvalid ? ": " : " now: ") + error.message;
    return std::move(error).with_field("volumes." + use.name);
  };
  if (!can_mount(fuse_)) {
    return failed(Error(Errc::kInvalid, "this machine cannot mount")
                      .with_value(fuse_)
                      .with_hint("give its user the right to open it"));
  }
  TRY(mounts_.add(place, {node, order.attempt}));
  if (Result<void> mounted = mount(node, order); !mounted.ok()) {
    Error error = std::move(mounted).error();
    if (error.code == Errc::kDenied) error.code = Errc::kInvalid;  // `retry` brings new keys.
    return failed(std::move(error));
  }
  so_far.of_rank[order.first_rank].emplace_back(model::volume_variable(use.name), tree);
  return so_far;
}

// In a term of the attempt, so that one before it, which was believed dead, writes nothing more.
Result<void> BranchesPhase::mount(const NodeId& node, const model::StartOrder& order) const {
  const model::VolumeUse& use = only_one(order);
  const std::string place = place_of(order);
  const env::FileLock lock = TRY(UsedMounts::lock_showing(place, kMountsWithin));
  const Shown shown = shown_in(place);
  if (shown == Shown::kMount) return {};
  if (shown == Shown::kNothing) TRY(mounts_.clear_tree(place));
  std::vector<std::string> words{
      "mount",          use.volume, UsedMounts::tree_of(place),
      "--store",        use.store,  "--branch",
      branch_of(order), "--term",   std::to_string(order.attempt.attempt.value())};
  // What goes on from a checkpoint goes on with what it has written, too.
  if (!order.checkpoint) words.emplace_back("--from-base");
  words.insert(words.end(), {"--detach", "--while-used", place});
  TRY(command_.run(words, TRY(command_.environment_for(node, order)), kMountsWithin));
  return {};
}

Result<void> BranchesPhase::unmount(const std::string& place, Users users) const {
  std::vector<std::string> words{"umount", UsedMounts::tree_of(place)};
  if (users == Users::kLoseIt) words.emplace_back("--lazy");
  TRY(command_.run(words, env::environment(), kMountsWithin));
  return {};
}

// What a task has written where its mount was taken away is in no branch.
Result<void> BranchesPhase::check_below(const std::string& place) {
  const Result<std::vector<std::string>> names = env::list_directory(UsedMounts::tree_of(place));
  if (!names.ok() || names->empty()) return {};
  return Error(Errc::kInvalid, "its mount was taken away while it ran, and '" + names->front() +
                                   "' was written to the folder below");
}

// Once it was removed, or is written in a later term, nothing can be added to it.
Result<void> BranchesPhase::check_mine(const NodeId& node, const model::StartOrder& order) const {
  const model::VolumeUse& use = only_one(order);
  const json::Value branches =
      TRY(command_.run({"branches", use.volume, "--store", use.store},
                       TRY(command_.environment_for(node, order)), kMountsWithin));
  const std::string name = branch_of(order);
  const json::Value* const all = branches.find("branches");
  if (all == nullptr || !all->is_list()) {
    return Error(Errc::kIo, "runnel volume branches names no branches");
  }
  for (const json::Value& each : all->as_list()) {
    const json::Value* const found = each.find("branch");
    const json::Value* const term = each.find("term");
    if (found == nullptr || term == nullptr || found->as_text() != name) continue;
    if (term->as_int() <= order.attempt.attempt.value()) return {};
    return Error(Errc::kInvalid, "branch '" + name + "' is written by a later attempt");
  }
  return Error(Errc::kInvalid, "branch '" + name + "' was removed");
}

// Its holder publishes the rest once the mount is no more. Where holder and server were killed, the
// next mount goes on with what is in the log.
Result<bool> BranchesPhase::finish(const NodeId& node, const model::StartOrder& order,
                                   PathTrail& trail) const {
  const std::string place = place_of(order);
  trail.follow(place);
  if (!env::exists(place)) return true;
  const Shown shown = shown_in(place);
  if (is_mount(shown)) {
    TRY(unmount(place, shown == Shown::kDeadMount ? Users::kLoseIt : Users::kKeepIt));
    return false;
  }
  if (UsedMounts::is_held(place)) return false;
  TRY(check_below(place));
  if (UsedMounts::is_published(place)) return true;
  TRY(check_mine(node, order));
  TRY(mount(node, order));
  return false;
}

Result<void> BranchesPhase::undo(const NodeId& node, const model::StartOrder& order,
                                 PathTrail& trail) const {
  const std::string place = place_of(order);
  trail.follow(place);
  TRY(mounts_.remove(place, {node, order.attempt}));
  if (env::exists(place)) {
    if (is_mount(shown_in(place))) TRY(unmount(place, Users::kLoseIt));
    // Who publishes the rest of it removes place and log then.
    if (UsedMounts::is_held(place)) return {};
    TRY(mounts_.remove_unused(place, [&] { return mounts_.clear_tree(place); }));
  }
  return mounts_.remove_log(branch_of(order), order.attempt.attempt);
}

std::string BranchesPhase::likely_cause(const model::StartOrder& order, Time begun) const {
  const std::optional<std::string> noted = UsedMounts::noted(place_of(order), begun);
  return noted ? "volume " + only_one(order).volume + " could not be used whole: " + *noted : "";
}

}  // namespace runnel::agent
