#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "model/log.h"

namespace runnel::output {

inline constexpr std::int64_t kTailLinesMax = 1'000'000;
inline constexpr std::size_t kTailBytesMax = std::size_t{8} << 20;

// The output of jobs, read from the files that the processes wrote and the runner's index.
//
// Contract: read() yields what lies behind the cursor, about model::kLogPageBytes at a time; an
//           empty page when there is nothing more now. Attempts that ended come whole, in the order
//           of their ends; of those that run, what is there. A piece ends at the end of a line,
//           unless the attempt ended, the line is longer than a page, or its rest has been
//           kPartialAfter in coming. A cursor is plain text that outlives everything but the job.
//           kInvalid for text that is no cursor of this job. What should be there and is not is
//           named in the page's damage; a change within the files of output shows nowhere.
// Threads:  blocking; one call at a time.
// Why:      reads what it needs and keeps nothing: a job may have a million attempts.
class LogReader {
 public:
  static constexpr Duration kPartialAfter = Duration::seconds(1);

  explicit LogReader(std::string home) : home_(std::move(home)) {}
  Result<model::LogPage> read(const model::LogFilter& filter, const std::string& cursor, Time now);

 private:
  std::string home_;
};

}  // namespace runnel::output
