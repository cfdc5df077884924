#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/event_log.h"

namespace runnel::store::testing {

// The batch that follows `head`: its texts depend on its number alone, so that a reader can tell
// what it must be.
Batch next_batch(const Head& head, Epoch epoch, std::int64_t event_count = 2);

// `count` batches that follow one another and the log's head.
std::vector<Batch> next_batches(const EventLog& log, Epoch epoch, std::int64_t count);

// The same batch without the hash, which only the store knows.
Batch without_hash(Batch batch);

}  // namespace runnel::store::testing
