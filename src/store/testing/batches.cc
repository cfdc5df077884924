#include "store/testing/batches.h"

#include <utility>

namespace runnel::store::testing {

Batch next_batch(const Head& head, Epoch epoch, std::int64_t event_count) {
  Batch batch;
  batch.seq = BatchSeq(head.last.value() + 1);
  batch.first_event = head.next_event;
  batch.event_count = event_count;
  batch.epoch = epoch;
  batch.now = Time::from_millis(1'700'000'000'000 + batch.seq.value());
  batch.input = R"({"number":)" + std::to_string(batch.seq.value()) + R"(,"type":"test"})";
  batch.events = "[";
  for (std::int64_t i = 0; i < event_count; ++i) {
    batch.events += i == 0 ? "" : ",";
    batch.events += R"({"seq":)" + std::to_string(batch.first_event.value() + i) + "}";
  }
  batch.events += "]";
  return batch;
}

std::vector<Batch> next_batches(const EventLog& log, Epoch epoch, std::int64_t count) {
  std::vector<Batch> out;
  Head head = log.head();
  for (std::int64_t i = 0; i < count; ++i) {
    out.push_back(next_batch(head, epoch));
    head.last = out.back().seq;
    head.next_event = out.back().next_event();
  }
  return out;
}

Batch without_hash(Batch batch) {
  batch.hash.clear();
  return batch;
}

}  // namespace runnel::store::testing
