#include "control/event_ring.h"

#include "base/check.h"

namespace runnel::control {

std::string event_document(EventSeq seq, Time at, std::string_view canonical_event) {
  CHECK(canonical_event.size() > 2, "an event's document is an object with members");
  CHECK(canonical_event.front() == '{', "an event's document is an object");
  std::string text = "{\"seq\":";
  text += std::to_string(seq.value());
  text += ",\"time\":\"";
  text += rfc3339(at);
  text += "\",";
  text += canonical_event.substr(1);
  return text;
}

void EventRing::push(EventRecord record) {
  CHECK(record.seq.value() == last_.value() + 1, "an event is missing before this one");
  last_ = record.seq;
  bytes_ += record.document.size();
  events_.push_back(std::move(record));
  while (events_.size() > kEventsMax || (bytes_ > kBytesMax && events_.size() > 1)) {
    bytes_ -= events_.front().document.size();
    events_.pop_front();
  }
}

std::optional<EventPage> EventRing::read(const EventQuery& query) const {
  EventPage page;
  page.through = query.after;
  if (query.after >= last_) return page;
  const std::int64_t first = last_.value() - std::ssize(events_) + 1;
  const std::int64_t skip = query.after.value() + 1 - first;
  if (skip < 0) return std::nullopt;
  CHECK(query.limit > 0, "a page has room for at least one event");
  for (auto at = static_cast<std::size_t>(skip); at < events_.size(); ++at) {
    if (page.events.size() >= query.limit) return page;
    const EventRecord& record = events_[at];
    if (query.job.empty() || record.job == query.job) page.events.push_back(record);
    page.through = record.seq;
  }
  return page;
}

}  // namespace runnel::control
