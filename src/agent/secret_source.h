#pragma once

#include <map>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace runnel::agent {

// An agent's source for the values of a job's secrets that control keeps.
//
// Contract: values() yields the job's values by their sources, "env:NAME"; none when none are kept
//           for it. `node` is the one that needs them. Errors hold no values.
// Threads:  any; blocks, for ever when what is behind it does.
// Lifetime: shared with calls that were left alone.
// Why:      in a home they lie on a disk that control and agent share; elsewhere they do not.
class SecretSource {
 public:
  using Values = std::map<std::string, std::string>;

  virtual ~SecretSource() = default;
  virtual Result<Values> values(const NodeId& node, const JobId& job) const = 0;
  // The path that values() reads, named when it does not answer.
  virtual std::string place(const JobId& job) const = 0;
};

}  // namespace runnel::agent
