#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "env/clock.h"

namespace runnel::store {

// What a full check of an event log found. Sound when `problems` is empty.
struct FsckReport {
  BatchSeq first;                     // The batches there are; 0 when there is none.
  BatchSeq last;                      // The last one whose chain holds.
  std::int64_t archive_entries = 0;   // Good ones, without those about others.
  std::int64_t snapshots = 0;         // Good ones.
  std::vector<std::string> notices;   // What opening will set right by itself.
  std::vector<std::string> problems;  // Full sentences; at most kFsckProblemsMax.

  bool sound() const { return problems.empty(); }
};

inline constexpr std::size_t kFsckProblemsMax = 100;

// Verifies every batch, snapshot, archive entry and page. Changes nothing. An error only when the
// check itself is not possible: no such file, or a newer format.
Result<FsckReport> fsck_sqlite_log(const std::string& path);

struct RepairReport {
  std::string copy;  // The folder with the files as they were.
  BatchSeq first;    // What is kept; 0 when nothing is.
  BatchSeq last;
  bool lost_end = false;             // There were batches after these.
  std::vector<std::string> dropped;  // Full sentences about all that was dropped.
};

// Makes a damaged log usable again, after a copy: keeps the batches before the first bad one, or,
// when a good snapshot covers that one and the batches after the snapshot are sound, the snapshot
// and what follows it, since then only history is lost. What the tables of the database no longer
// give is read from its single pages. The new file replaces the old one at once; a
// repair that was killed, whenever, is begun anew and keeps as much.
// Where nothing at all is left, a log begins whose epochs are greater than any before.
Result<RepairReport> repair_sqlite_log(const std::string& path, const env::Clock& clock);

}  // namespace runnel::store
