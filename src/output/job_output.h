#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "async/unique_fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/refs.h"
#include "output/log_index.h"

namespace runnel::output {

// The beginning of a file that attempts share: one without it was emptied by one of them.
inline constexpr std::string_view kSharedHead =
    "# Output of several attempts: \"runnel logs\" tells them apart.\n";

// Slots from here on belong to one attempt each, for good; it may do with its files what it likes.
inline constexpr std::uint32_t kAloneSlots = 1'000'000'000;
inline bool is_alone(std::uint32_t slot) { return slot >= kAloneSlots; }

// The two files that the ranks of one slot append to, one attempt after another.
struct Segment {
  async::UniqueFd files[2];       // By LogStream.
  std::int64_t size[2] = {0, 0};  // When an attempt last ended: the next begins there.
  bool emptied = false;           // Something other than its end was done to it.
};

// The place of the output of one rank of one attempt. `gap` is what max_log has dropped so far.
struct RankOutput {
  std::uint32_t slot = 0;
  std::int32_t rank = 0;
  model::AttemptRef attempt;
  std::int64_t begin[2] = {0, 0};  // By LogStream.
  std::int64_t gap_begin[2] = {0, 0};
  std::int64_t gap_end[2] = {0, 0};
};

// The output of a job: segment files, reused by the attempts of a lane, and the index of who wrote
// where. No pipe and no copy: the processes hold the files themselves.
//
// Contract: a slot belongs to one lane at a time. begin() and end() collect index records; flush()
//           writes them, before the process starts. A slot with a writer that could not be killed
//           is never used again (give_slot(kUnusable)), nor is one whose files an attempt emptied:
//           what is there then is that attempt's, and stands in the index as such.
// Threads:  the runner's only.
// Limits:   two open files per slot and rank, for as long as the job has attempts.
// Why:      creating two files per task costs more than starting its process. An attempt that is
//           known to open its output by name gets its own all the same (SlotUse::kAlone).
class JobOutput {
 public:
  static Result<JobOutput> open(const std::string& home, const JobId& job);

  enum class SlotUse : std::uint8_t { kShared, kAlone };
  enum class SlotState : std::uint8_t { kClean, kUnusable };
  std::uint32_t take_slot(SlotUse use);
  void give_slot(std::uint32_t slot, SlotState state);

  // Opens (or goes on with) the files of the slot and rank; notes where the attempt begins.
  Result<RankOutput> begin(std::uint32_t slot, std::int32_t rank, const model::AttemptRef& attempt,
                           Time now);
  int descriptor(const RankOutput& output, model::LogStream stream);
  void end(RankOutput& output, Bytes max_log, Time now);
  // Keeps head and tail of what is over max_log. Cheap when it is not.
  void trim(RankOutput& output, Bytes max_log);
  // An attempt of a dead runner: its end is where its files end now.
  void end_vanished(std::uint32_t slot, std::int32_t rank, const model::AttemptRef& attempt,
                    Time now);

  Result<void> flush();
  // Whether what it writes is what readers find: the job's folder, or its index, may have been
  // removed. Then it is to be opened anew.
  bool is_in_place() const;

 private:
  enum class Slack : std::uint8_t { kSome, kNone };
  Result<void> prepare();
  Result<Segment*> open_segment(std::uint32_t slot, std::int32_t rank);
  Segment& segment_of(const RankOutput& output);
  void measure(RankOutput& output, Bytes max_log);
  void end_in_index(RankOutput& output, Bytes max_log, Time now);
  void end_apart(RankOutput& output, const bool (&emptied)[2], Bytes max_log, Time now);
  void cut(RankOutput& output, Bytes max_log, Slack slack);
  void punch(RankOutput& output, model::LogStream stream, std::int64_t begin, std::int64_t end,
             Bytes max_log);
  void append(IndexRecord::Kind kind, const RankOutput& output, Time now,
              const std::int64_t (&offset)[2], Bytes max_log);

  std::string logs_;
  async::UniqueFd index_;
  std::string pending_;
  std::map<std::pair<std::uint32_t, std::int32_t>, Segment> segments_;
  std::set<std::uint32_t> free_slots_;
  std::uint32_t next_slot_ = 0;
  std::uint32_t next_alone_slot_ = kAloneSlots;
  bool share_ = true;  // No attempt has emptied what others share.
  bool can_punch_ = true;
};

}  // namespace runnel::output
