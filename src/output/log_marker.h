#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "async/unique_fd.h"
#include "base/units.h"
#include "output/log_marks.h"

namespace runnel::output {

// Notes for one job when the files of its output grew.
//
// Contract: look() compares a file with what was seen before (by an earlier marker as well) and
//           adds a mark if its size is another; true then. Errors cost marks, never output.
// Threads:  none of its own; a few system calls per look.
// Limits:   kMarksDenseMax and kMarksBytesMax per segment; kOpenMax open files.
class LogMarker {
 public:
  static constexpr std::size_t kOpenMax = 128;

  explicit LogMarker(std::string logs) : logs_(std::move(logs)) {}

  // `name` is a file's name in the folder; names that are no output are ignored.
  bool look(std::string_view name, Time now);
  // Every file of the folder.
  bool look_all(Time now);

 private:
  struct Lane {
    async::UniqueFd marks;
    std::int64_t bytes = 0;         // The size of the marks' file.
    std::int64_t seen[2] = {0, 0};  // By LogStream.
    Time latest;
  };
  using LaneKey = std::pair<std::uint32_t, std::int32_t>;

  Lane& lane_of(LaneKey key);
  void read_seen(Lane& lane);
  void note(Lane& lane, const LogMark& mark);

  std::string logs_;
  std::map<LaneKey, Lane> lanes_;
};

}  // namespace runnel::output
