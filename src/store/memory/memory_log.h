#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/event_log.h"

namespace runnel::store {

// How the next append goes wrong.
enum class AppendFault : std::uint8_t {
  kNone,
  kFull,  // Refused with kFull; nothing is kept and the log goes on.
  kIo,    // Refused with kIo; nothing is kept and the log takes no more until opened anew.
  kTorn,  // As kIo, but a part reached the disk, which opening drops with a notice.
  kKept,  // As kIo, but all of it reached the disk, where opening finds it.
};

// What outlives a MemoryLog, as a disk outlives a process. Tests share it between openings.
struct MemoryStorage {
  struct SavedSnapshot {
    std::string text;
    bool damaged = false;
  };

  std::map<std::int64_t, Batch> batches;            // By seq.
  std::map<std::int64_t, SavedSnapshot> snapshots;  // By the seq they go through.
  std::map<std::string, ArchiveEntry> archive;      // By key.
  Head base;                                        // What was pruned ends here.
  Epoch epoch;
  std::int64_t torn_batches = 0;  // Written by an append that never ended.
  AppendFault next_append = AppendFault::kNone;
  Error next_error{Errc::kIo, "the disk failed"};
};

// An event log in memory, for tests of what stands on a log: the same contract as on disk, with
// faults on request. `storage` is shared with the test and with later openings.
Result<std::unique_ptr<EventLog>> open_memory_log(std::shared_ptr<MemoryStorage> storage);

}  // namespace runnel::store
