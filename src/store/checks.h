#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/event_log.h"

// The rules that every back-end enforces the same way.
namespace runnel::store {

// kPrecondition unless `epoch` is the latest lease.
Result<void> check_epoch(Epoch epoch, Epoch latest);

// Sets the hashes of batches that follow `head`; kPrecondition or kInvalid when they do not follow
// it or are too large. Returns the head after them.
Result<Head> chain_batches(const Head& head, Epoch epoch, std::vector<Batch>& batches);

// kCorrupt, naming the batch, unless it follows the batch before and its hash holds.
Result<void> verify_follows(const Batch& batch, BatchSeq previous_seq, EventSeq first_event,
                            std::string_view previous_hash);

Error pruned(const std::string& what, BatchSeq through);
Error no_such_event(EventSeq event, EventSeq next);
Error no_such_key(std::string_view key);
Error not_in_log(BatchSeq snapshot, BatchSeq last);
Error not_covered(BatchSeq through);
Error disk_is_full();
// What every use says after a write whose outcome is unknown.
Error log_is_broken();

// Where a list goes on: after the entry with this sort key and key.
struct PagePlace {
  std::string sort_key;
  std::string key;
};

// "4:sortkey": readable back whatever the parts contain.
std::string page_token(const PagePlace& place);
Result<PagePlace> parse_page_token(std::string_view token);

}  // namespace runnel::store
