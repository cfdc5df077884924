#pragma once

#include <string>
#include <utility>

#include "agent/secret_source.h"
#include "control/secrets.h"

namespace runnel::home {

// The values that a home's control keeps, as its agent's source of secrets.
//
// Threads: any; blocks.
class KeptSecrets final : public agent::SecretSource {
 public:
  explicit KeptSecrets(std::string folder) : files_(std::move(folder)) {}
  // All nodes of a home are on its machine.
  Result<Values> values(const NodeId&, const JobId& job) const override {
    return files_.values(job);
  }
  std::string place(const JobId& job) const override { return files_.path_of(job); }

 private:
  const control::FileSecrets files_;
};

}  // namespace runnel::home
