#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "async/unique_fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "runner/message.h"

namespace runnel::runner {

// One rank in the journal: it was about to start, has a process, or ended.
struct JournalRank {
  RankFact fact;           // kEnded once the exit is known.
  std::uint32_t slot = 0;  // Number of its output and of its task folder in the job's folders.
  pid_t pid = 0;           // 0: not known (the runner died while it started the process).
  Duration started;        // Boot clock just before the process was made.
};

// The runner that wrote a journal. A copied home has a journal of processes that are not its own.
struct JournalOrigin {
  std::string boot;  // Boot id of the machine when it was written.
  Incarnation incarnation;
  std::string home;        // Path; empty, as the next, in one of an earlier build.
  std::string home_token;  // The folder's device and inode, as in RUNNEL_ATTEMPT_KEY.
};

// What a journal tells the next runner.
struct JournalContent {
  JournalOrigin origin;
  bool ended_cleanly = false;
  bool torn = false;  // The last record was cut off: dropped.
  // By place number, then rank, as the writer numbered them; forgotten ones are left out.
  std::map<std::pair<std::uint64_t, std::int32_t>, JournalRank> ranks;
};

// Reads any bytes: a torn or damaged tail is dropped and said so. kCorrupt when not even the header
// can be read; kNotFound when there is no file.
Result<JournalContent> read_journal(const std::string& path);
Result<JournalContent> parse_journal(std::string_view bytes);

// Exit records and pids, so that they survive a kill -9 of the runner.
//
// Contract: start() stands before the process exists, end() as soon as its exit is known. Records
//           collect in memory until flush(), one write for all. A failed write (disk full) keeps
//           them and the next flush tries again; nothing may be started meanwhile. It holds kAhead
//           of the disk for what comes next, so that what ends on a full disk can be told. Not
//           synced: it survives the death of the process, not of the machine, whose attempts die
//           with it.
// Threads:  the runner's only.
// Limits:   over_full() at kBytesMax, or at twice what it began with: then its owner rewrites it.
class Journal {
 public:
  static constexpr std::size_t kBytesMax = 16 << 20;
  static constexpr std::size_t kReadMax = 512 << 20;
  static constexpr std::size_t kAhead = 256 << 10;

  // Replaces the file at `path`, which keeps its old content until commit().
  static Result<Journal> create(std::string path, const JournalOrigin& origin);

  void start(std::uint64_t place, std::uint32_t slot, const RankFact& fact, Duration now);
  void process(std::uint64_t place, std::int32_t rank, pid_t pid);
  void end(std::uint64_t place, const RankFact& fact);
  void forget(std::uint64_t place);
  void end_cleanly();

  // Makes the new file the journal.
  Result<void> commit();
  Result<void> flush();
  bool over_full() const { return bytes_ > kBytesMax && bytes_ > 2 * bytes_begun_; }
  std::size_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  // False once its folder was moved away: what is at the path is another home's.
  bool in_place() const;
  void remove();

 private:
  Journal() = default;
  template <typename Fill>
  void append(Fill fill);
  Result<void> write_pending();
  void hold_ahead();

  std::string path_;
  std::string temporary_;  // Empty after commit().
  async::UniqueFd file_;
  std::string pending_;
  std::string scratch_;
  std::size_t bytes_ = 0;
  std::size_t bytes_begun_ = 0;  // After commit().
  std::size_t held_ = 0;         // Up to which byte there is room for it.
};

}  // namespace runnel::runner
