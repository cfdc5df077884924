#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/phases/phase.h"
#include "agent/phases/shown_tree.h"
#include "agent/phases/volume_command.h"
#include "agent/used_mounts.h"

namespace runnel::agent {

// Each rank of an attempt has the volumes that it writes as folders, each a mount of a branch of
// its own, until its end; then all that it wrote is in the store before that end is told.
// docs/design/job_writes.md.
class BranchesPhase final : public Phase {
 public:
  static constexpr Duration kMountsWithin = Duration::minutes(2);

  BranchesPhase(UsedMounts mounts, VolumeCommand command, std::string fuse = kFuseDevice)
      : mounts_(std::move(mounts)), command_(std::move(command)), fuse_(std::move(fuse)) {}

  Traits traits() const override {
    return {.thread = "agent-branches",
            .silent_max = Duration::minutes(1),
            .parts = Parts::kUntilEnded,
            .waits_for_others = true};
  }
  bool is_needed(const model::StartOrder& order) const override { return !split(order).empty(); }
  // Each rank's part of each volume.
  std::vector<model::StartOrder> split(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override {
    return {place_of(order), Reach::kFolder, only_one(order).store};
  }
  std::string waits_for(const model::StartOrder& order) const override;
  Result<Readiness> prepare(const NodeId& node, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;
  bool finishes() const override { return true; }
  Result<bool> finish(const NodeId& node, const model::StartOrder& order,
                      PathTrail& trail) const override;
  Result<void> undo(const NodeId& node, const model::StartOrder& order,
                    PathTrail& trail) const override;
  std::string likely_cause(const model::StartOrder& order, Time begun) const override;

 private:
  // Of an order as split() makes them.
  static const model::VolumeUse& only_one(const model::StartOrder& order);
  static std::string branch_of(const model::StartOrder& order);
  std::string place_of(const model::StartOrder& order) const;
  static Result<void> check_below(const std::string& place);
  Result<void> check_mine(const NodeId& node, const model::StartOrder& order) const;
  Result<void> mount(const NodeId& node, const model::StartOrder& order) const;
  enum class Users : std::uint8_t { kKeepIt, kLoseIt };
  Result<void> unmount(const std::string& place, Users users) const;

  const UsedMounts mounts_;
  const VolumeCommand command_;
  const std::string fuse_;
};

}  // namespace runnel::agent
