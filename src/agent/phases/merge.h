#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/phases/phase.h"
#include "agent/phases/volume_command.h"

namespace runnel::agent {

// What the tasks of a step wrote is one version of each volume before the attempt begins that
// publishes it: made once, whoever is killed meanwhile. docs/design/job_writes.md.
class MergePhase final : public Phase {
 public:
  static constexpr Duration kMergesWithin = Duration::hours(1);

  // `folder`: for the names of branches, which are too many for a command line.
  MergePhase(std::string folder, VolumeCommand command)
      : folder_(std::move(folder)), command_(std::move(command)) {}

  Traits traits() const override {
    return {.thread = "agent-merges",
            .silent_max = Duration::minutes(1),
            .parts = Parts::kUntilEnded,  // The versions that it tells of.
            .waits_for_others = true};
  }
  bool is_needed(const model::StartOrder& order) const override { return order.merge.has_value(); }
  std::vector<model::StartOrder> split(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override {
    return {names_file(order), Reach::kFolder, order.volumes.front().store};
  }
  std::string waits_for(const model::StartOrder& order) const override;
  Result<Readiness> prepare(const NodeId& node, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;

 private:
  std::string names_file(const model::StartOrder& order) const;

  const std::string folder_;
  const VolumeCommand command_;
};

}  // namespace runnel::agent
