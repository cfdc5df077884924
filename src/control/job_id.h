#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"

namespace runnel::control {

// Makes the ids of new jobs: "0dm3k7q2f9wx", nine digits of time and three of chance.
//
// Contract: ids of one maker grow strictly, whatever the clock does; so do those of its successor
//           when it is told the newest time of the log it goes on with. The last three digits keep
//           the jobs of many homes apart.
// Threads:  none of its own.
// Why:      ids that sort by time make every list a range, and letters that people confuse (i l o
//           u) do not occur.
class JobIdMaker {
 public:
  // `salt` differs between homes and between processes; nothing rests on its being secret.
  JobIdMaker(std::uint64_t salt, Time newest) : salt_(salt), last_(newest) {}

  JobId next(Time now);

 private:
  std::uint64_t salt_;
  Time last_;
};

inline constexpr std::size_t kJobIdDigits = 12;

// The time that an id of a job was made at, or was made to look like; zero for any other text.
Time time_of(const JobId& id);

// Whether the text could be an id or a shortened one: 1 to 12 of the digits used.
bool is_job_id_prefix(std::string_view text);

// What is said of a text that names no job.
Error no_such_job(const std::string& text);

}  // namespace runnel::control
