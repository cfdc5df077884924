#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/secret_source.h"
#include "base/result.h"
#include "base/units.h"
#include "json/value.h"
#include "model/order.h"

namespace runnel::agent {

// `runnel volume ...` as phases call it, in a process of its own: it may hang, or be killed, as its
// store does.
//
// Errors:   kInvalid for what is not there, kConflict, kDenied where the job has no keys at all;
//           all else is kIo, and may pass. The command's own sentence, field and remedy.
// Threads:  any; blocks.
class VolumeCommand {
 public:
  using Environment = std::vector<std::string>;

  // `command`: what stands before `mount`, {"runnel", "--home", HOME, "volume"}. `secrets` has the
  // keys of buckets; null: they are found without.
  VolumeCommand(std::vector<std::string> command, std::shared_ptr<const SecretSource> secrets)
      : command_(std::move(command)), secrets_(std::move(secrets)) {}

  // This process's, with the keys that the job of the order was submitted with.
  Result<Environment> environment_for(const NodeId& node, const model::StartOrder& order) const;
  // Its answer. kTimeout when it has not ended `within`; then it is killed.
  Result<json::Value> run(const std::vector<std::string>& words, const Environment& environment,
                          Duration within) const;

 private:
  const std::vector<std::string> command_;
  const std::shared_ptr<const SecretSource> secrets_;
};

}  // namespace runnel::agent
