#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/index_file.h"

namespace runnel::output {

// The sentence about an index in which a record's sum is wrong.
std::string damaged_records(const std::string& logs);

// Whether a job's index names all that its files of output hold.
//
// Contract: of a job that runs, only that the index can be read: the rest may be about to be
//           written. Of one that is over, that it is there and each byte belongs to an attempt. An
//           index of more than kRecordsMax records is not held against the files.
// Threads:  blocking.
// Why:      an index that is gone or cut says nothing of what it lost.
class LogAudit {
 public:
  // kNeverBegan: it is over, and perhaps no task of it began.
  enum class Job : std::uint8_t { kRuns, kOver, kNeverBegan };
  static constexpr std::int64_t kRecordsMax = 200'000;

  LogAudit(const std::string& logs, Job job) : logs_(logs), index_(logs), job_(job) {}
  std::vector<std::string> sentences();

 private:
  using Lane = std::pair<std::uint32_t, std::int32_t>;  // Slot and rank.
  struct Ends {
    std::int64_t named[2] = {0, 0};  // By LogStream.
    bool open = false;               // The last attempt has no end: all that follows is its own.
  };

  std::vector<std::string> segments() const;
  std::vector<std::string> without_index() const;
  void read_ends();
  void compare(const std::string& segment, std::vector<std::string>& sentences) const;

  const std::string& logs_;
  IndexFile index_;
  Job job_;
  std::map<Lane, Ends> ends_;
  bool has_damaged_records_ = false;
};

}  // namespace runnel::output
