#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/order.h"
#include "runner/message.h"

namespace runnel::agent {

// The attempts that have not begun and for which something may have been made: a file below
// `<home>/preparing` for each, which holds its order.
//
// Contract: keep() is durable when it returns and replaces what was there; drop() is idempotent. A
//           file that cannot be read is named, and stays.
// Threads:  any; each call blocks.
// Why:      who is killed cannot take back what it made; whoever comes next must know of it.
class PreparationRecords {
 public:
  struct Record {
    runner::AttemptOnNode of() const { return {node, order.attempt}; }

    NodeId node;
    model::StartOrder order;
  };
  struct All {
    std::vector<Record> records;
    std::vector<std::string> unreadable;  // A sentence each.
  };

  explicit PreparationRecords(const std::string& home) : folder_(home + "/preparing") {}

  Result<void> keep(const Record& record) const;
  Result<void> drop(const runner::AttemptOnNode& of) const;
  // Also removes what a kill left of keep() itself.
  Result<All> all() const;
  const std::string& folder() const { return folder_; }

 private:
  std::string path_of(const runner::AttemptOnNode& of) const;

  std::string folder_;
};

}  // namespace runnel::agent
