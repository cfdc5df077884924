#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "agent/phases/phase.h"
#include "agent/secret_source.h"
#include "base/result.h"

namespace runnel::agent {

// The values of a job's secrets, found at the start of each attempt.
//
// An "env:NAME" source was read in the submitting shell; control keeps its value until the job
// ends. A "file:/path" source is read now, without its last newline. Values never appear in errors.

inline constexpr std::int64_t kSecretBytesMax = 65'536;

// Reads them.
class SecretsPhase final : public Phase {
 public:
  // Without a source, orders name files only.
  explicit SecretsPhase(std::shared_ptr<const SecretSource> source) : source_(std::move(source)) {}

  Traits traits() const override { return {"agent-secrets", Duration::seconds(30)}; }
  bool is_needed(const model::StartOrder& order) const override { return !order.secrets.empty(); }
  Workplace workplace(const model::StartOrder& order) const override;
  std::string waits_for(const model::StartOrder&) const override { return "its secrets"; }
  Result<Readiness> prepare(const NodeId& node, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;

 private:
  const std::shared_ptr<const SecretSource> source_;
};

}  // namespace runnel::agent
