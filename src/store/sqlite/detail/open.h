#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/checks.h"
#include "store/sqlite/detail/database.h"
#include "store/sqlite/detail/tables.h"
#include "store/sqlite/detail/wal_scan.h"

namespace runnel::store::sqlite {

// What a recovered log starts from: the newest good snapshot and where the verified chain ends.
struct Recovered {
  Meta meta;
  Head head;
  std::optional<Snapshot> snapshot;
  OpenReport report;
};

struct OpenDatabase {
  Database database;
  Tables tables;
};

// Makes an empty log at `path`, whole or not at all: it is built beside it and renamed.
Result<void> create_database(const std::string& path);

// Connects to an existing log and checks that it is one, of a format that this build knows. Closing
// leaves the write-ahead log alone until the caller says otherwise.
Result<OpenDatabase> open_existing(const std::string& path);

// kCorrupt when there is no database at `path`, and something else tells that there was one.
Result<void> check_nothing_is_left(const std::string& path);

// Every page that the database counts must be in its file or in the write-ahead log.
Result<void> check_pages_are_there(Database& database, const std::string& path,
                                   const WalFindings& wal);

// Reads the way to the archive's ends, by key and in its order: what any list begins with.
Result<void> look_at_archive(Tables& tables);

// Finds the newest good snapshot and verifies the chain from it on. Changes nothing.
Result<Recovered> recover(Tables& tables);

// Calls `visit(batch, error)` for each batch after `start`, where the error is that of its
// verification; it says whether to go on. Further batches are verified against the hash that this
// one claims.
template <typename Visit>
Result<void> verify_batches(Tables& tables, Head start, Visit visit) {
  return tables.each_batch(start.last, [&](Batch&& batch) -> Result<bool> {
    const Result<void> verified = verify_follows(batch, start.last, start.next_event, start.hash);
    start = {batch.seq, batch.next_event(), batch.hash, batch.epoch};
    return visit(batch, verified);
  });
}

}  // namespace runnel::store::sqlite
