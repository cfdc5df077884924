#pragma once

#include <string>
#include <utility>

#include "agent/phases/phase.h"

namespace runnel::agent {

// Keeps how far the metrics of a task's earlier attempts went: they are not this one's word.
class MetricsBeginPhase final : public Phase {
 public:
  explicit MetricsBeginPhase(std::string home) : home_(std::move(home)) {}

  // The task's own files may lie on a dead mount.
  Traits traits() const override { return {"agent-begins", Duration::seconds(4)}; }
  bool is_needed(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override;
  std::string waits_for(const model::StartOrder&) const override { return "its folder"; }
  Result<Readiness> prepare(const NodeId&, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;

 private:
  const std::string home_;
};

}  // namespace runnel::agent
