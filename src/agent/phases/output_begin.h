#pragma once

#include <string>
#include <utility>

#include "agent/phases/phase.h"

namespace runnel::agent {

// Finds where the output of an attempt will begin in its job's log index, which may hold a million
// others: whoever follows it for metrics reads from there.
class OutputBeginPhase final : public Phase {
 public:
  explicit OutputBeginPhase(std::string home) : home_(std::move(home)) {}

  // Without it everything is read.
  Traits traits() const override { return {"agent-outputs", Duration::seconds(4), true}; }
  bool is_needed(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override;
  std::string waits_for(const model::StartOrder&) const override { return "the logs of its job"; }
  Result<Readiness> prepare(const NodeId&, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;

 private:
  const std::string home_;
};

}  // namespace runnel::agent
