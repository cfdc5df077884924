#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "agent/phases/phase.h"
#include "base/result.h"

namespace runnel::agent {

// The values of a job's secrets, found at the start of each attempt.
//
// An "env:NAME" source was read in the submitting shell; its value waits in `<home>/secrets/<job>`,
// a JSON object by source, which control writes and wipes. A "file:/path" source is read now,
// without its last newline. Values never appear in errors.

inline constexpr std::int64_t kSecretBytesMax = 65'536;

// Reads them.
class SecretsPhase final : public Phase {
 public:
  explicit SecretsPhase(std::string home) : home_(std::move(home)) {}

  Traits traits() const override { return {"agent-secrets", Duration::seconds(30)}; }
  bool is_needed(const model::StartOrder& order) const override { return !order.secrets.empty(); }
  Workplace workplace(const model::StartOrder& order) const override;
  Result<Readiness> prepare(const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;

 private:
  const std::string home_;
};

}  // namespace runnel::agent
