#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace runnel::control {

// One event as watchers get it.
struct EventRecord {
  EventSeq seq;
  JobId job;             // Empty: about no job.
  std::string document;  // {"seq":7,"time":"...","type":"job.changed",...}
};

// The document of an event, from its canonical JSON: place and time come first.
std::string event_document(EventSeq seq, Time at, std::string_view canonical_event);

// Which events are asked for, and from where.
struct EventQuery {
  EventSeq after;
  JobId job;  // Empty: all.
  std::size_t limit = 1'000;
};

// Some events and how far was looked: `through` grows even when nothing matched.
struct EventPage {
  std::vector<EventRecord> events;
  EventSeq through;
};

// The newest durable events, so that a watch does not read the store.
//
// Contract: push() takes events in order without a gap. At kEventsMax or kBytesMax the oldest
// leave;
//           who needs those reads the store. read() answers from the ring, or nothing when `after`
//           lies before it.
// Threads:  none of its own.
class EventRing {
 public:
  static constexpr std::size_t kEventsMax = 16'384;
  static constexpr std::size_t kBytesMax = std::size_t{16} << 20;

  // `last`: the newest event of the log when the ring starts.
  explicit EventRing(EventSeq last) : last_(last) {}

  void push(EventRecord record);
  std::optional<EventPage> read(const EventQuery& query) const;
  EventSeq last() const { return last_; }
  std::size_t size() const { return events_.size(); }

 private:
  EventSeq last_;
  std::size_t bytes_ = 0;
  std::deque<EventRecord> events_;
};

}  // namespace runnel::control
