#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace runnel::store::sqlite {

// What stands in a write-ahead log behind its last whole transaction.
struct WalFindings {
  std::int64_t committed_frames = 0;
  std::vector<std::int64_t> pages;     // Database pages that the committed frames hold, in order.
  std::int64_t unfinished_frames = 0;  // From a transaction that never ended: dropped by SQLite.
  std::string damage;                  // A full sentence; "" when there is none.

  friend bool operator==(const WalFindings&, const WalFindings&) = default;
};

// Reads a write-ahead log as SQLite will when it recovers (https://sqlite.org/fileformat2.html,
// section 4), and tells what SQLite drops without a word: the frames of an unfinished transaction,
// which is right, and whole transactions behind a damaged frame, which are acknowledged work.
//
// Why a damaged frame before the last transaction is damage: each commit is synced before the next
// transaction begins, so the disk had all of what is before. A damaged last transaction cannot be
// told from one that a power loss cut, and counts as unfinished.
Result<WalFindings> scan_wal(const std::string& wal_path);

}  // namespace runnel::store::sqlite
