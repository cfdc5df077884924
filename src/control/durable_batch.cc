#include "control/durable_batch.h"

#include <iterator>
#include <string_view>

#include "base/check.h"

namespace runnel::control {
namespace {

bool is_stored_as(const DurableBatch& batch, Epoch epoch, const store::Batch& stored) {
  return stored.seq == batch.seq && stored.epoch == epoch &&
         stored.first_event == batch.first_event && stored.now == batch.now &&
         stored.event_count == std::ssize(batch.events) && stored.events == list_text(batch);
}

}  // namespace

std::string list_text(const DurableBatch& batch) {
  CHECK(batch.ends.size() == batch.events.size(), "a batch has other documents than events");
  std::string text = "[";
  text.reserve(batch.json.size() + batch.ends.size() + 1);
  std::size_t begin = 0;
  for (const std::size_t end : batch.ends) {
    if (begin != 0) text += ',';
    text += std::string_view(batch.json).substr(begin, end - begin);
    begin = end;
  }
  return text + "]";
}

Result<bool> are_in(store::EventLog& log, Epoch epoch, const std::vector<DurableBatch>& batches) {
  CHECK(!batches.empty(), "a commit of nothing");
  if (log.head().last < batches.back().seq) return false;
  BatchSeq at(batches.front().seq.value() - 1);
  for (auto next = batches.begin(); next != batches.end();) {
    const std::vector<store::Batch> stored = TRY(log.read(at, std::distance(next, batches.end())));
    if (stored.empty()) return false;
    for (const store::Batch& each : stored) {
      if (!is_stored_as(*next++, epoch, each)) return false;
    }
    at = stored.back().seq;
  }
  return true;
}

}  // namespace runnel::control
