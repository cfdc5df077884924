#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/log_reader.h"
#include "store/sqlite/detail/tables.h"

// What EventLog and LogReader promise of reading, over the rows of a database. `kept` is what the
// log holds at that moment.
namespace runnel::store::sqlite {

// The head as it was after this batch, which is there or was the last to be pruned.
Result<Head> head_at(Tables& tables, const Head& base, BatchSeq seq);
Result<std::vector<Batch>> read_batches(Tables& tables, const Kept& kept, BatchSeq after,
                                        std::int64_t limit);
Result<Batch> find_batch(Tables& tables, const Kept& kept, EventSeq event);
Result<ArchiveEntry> archived(Tables& tables, std::string_view key);
Result<ArchivePage> list_archive(Tables& tables, const ArchiveQuery& query);
Result<std::vector<std::string>> archive_keys(Tables& tables, std::string_view prefix,
                                              std::int64_t limit);

}  // namespace runnel::store::sqlite
