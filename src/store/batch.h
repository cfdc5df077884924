#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"

namespace runnel::store {

// The format that this build writes. Older ones are read, newer ones refused.
inline constexpr std::int64_t kFormatVersion = 1;

// What one batch may hold; one that is larger cannot be read back within json::ParseLimits.
inline constexpr Bytes kBatchBytesMax = Bytes::mebi(64);

// One decision of the brain: the input, the time it was decided at, and the events it led to.
struct Batch {
  BatchSeq seq;          // Grows by one.
  EventSeq first_event;  // The next free one when there are no events.
  std::int64_t event_count = 0;
  Epoch epoch;  // The epoch of the control process that decided.
  Time now;
  std::string input;   // Canonical JSON of one input.
  std::string events;  // Canonical JSON list.
  std::string hash;    // Covers this batch and all before it; set by the store.

  EventSeq next_event() const { return EventSeq(first_event.value() + event_count); }

  friend bool operator==(const Batch&, const Batch&) = default;
};

// What the hash is made of: all of the batch but the hash, with the format version, as canonical
// JSON. Also the line of an exported log.
std::string canonical_text(const Batch& batch);

// The hash of a batch that follows the one with `previous_hash` ("" for the first).
std::string chained_hash(std::string_view previous_hash, const Batch& batch);

// Reads canonical_text() back, without a hash. kUnsupported for a newer format, kCorrupt for text
// that is not a canonical batch.
Result<Batch> parse_batch(std::string_view text);

}  // namespace runnel::store
