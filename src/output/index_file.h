#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "async/unique_fd.h"
#include "output/log_index.h"

namespace runnel::output {

// The records of a job's index as they are when it was looked at last, read in blocks.
//
// Threads: blocking; one at a time.
class IndexFile {
 public:
  explicit IndexFile(const std::string& logs);

  std::int64_t records() const { return records_; }
  // Whether there are more records than before.
  bool look_again();
  // Why it could not be opened, as errno says it; 0: it could.
  int failure() const { return failure_; }
  // Whether it ends within a record: one is being written, or was cut off.
  bool torn() const { return torn_; }
  // Nothing for a damaged record.
  std::optional<IndexRecord> at(std::int64_t number);

 private:
  static constexpr std::int64_t kBlock = 1'024;

  void load(std::int64_t number);

  async::UniqueFd file_;
  std::int64_t records_ = 0;
  int failure_ = 0;
  bool torn_ = false;
  std::string block_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace runnel::output
