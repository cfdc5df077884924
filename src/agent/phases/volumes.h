#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/phases/phase.h"
#include "agent/phases/shown_tree.h"
#include "agent/phases/volume_command.h"
#include "agent/used_mounts.h"

namespace runnel::agent {

// The versions of volumes that an attempt reads are there, each as a folder, until its end:
// mounted, or copied where this machine cannot mount. docs/design/job_volumes.md.
class VolumesPhase final : public Phase {
 public:
  static constexpr Duration kMountsWithin = Duration::minutes(2);
  static constexpr Duration kCopiesWithin = Duration::hours(1);

  VolumesPhase(UsedMounts mounts, VolumeCommand command, std::string fuse = kFuseDevice)
      : mounts_(std::move(mounts)), command_(std::move(command)), fuse_(std::move(fuse)) {}

  Traits traits() const override {
    return {.thread = "agent-volumes",
            .silent_max = Duration::minutes(1),
            .parts = Parts::kUntilEnded,
            .waits_for_others = true};
  }
  bool is_needed(const model::StartOrder& order) const override { return !split(order).empty(); }
  // Each volume alone: a store that is away holds up nobody who reads from another.
  std::vector<model::StartOrder> split(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override {
    const model::VolumeUse& use = order.volumes.front();
    return {mounts_.place_of(use), Reach::kFolder, use.store};
  }
  std::string waits_for(const model::StartOrder& order) const override;
  Result<Readiness> prepare(const NodeId& node, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;
  Result<void> undo(const NodeId& node, const model::StartOrder& order,
                    PathTrail& trail) const override;
  // What readers of its mount could not have.
  std::string likely_cause(const model::StartOrder& order, Time begun) const override;
  std::optional<std::string> swept_folder() const override { return mounts_.folder(); }
  Result<void> sweep(PathTrail& trail) const override;

 private:
  // Of an order as split() makes them.
  static const model::VolumeUse& only_one(const model::StartOrder& order);
  Result<void> show(const model::VolumeUse& use,
                    const VolumeCommand::Environment& environment) const;
  Result<void> copy(const model::VolumeUse& use,
                    const VolumeCommand::Environment& environment) const;
  Result<void> end_unserved(const std::string& place) const;
  Result<void> end_unused(const std::string& place, Shown shown) const;

  const UsedMounts mounts_;
  const VolumeCommand command_;
  const std::string fuse_;
};

}  // namespace runnel::agent
