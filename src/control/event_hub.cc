#include "control/event_hub.h"

#include <algorithm>
#include <string>
#include <utility>

#include "json/value.h"
#include "model/codec.h"

namespace runnel::control {
namespace {

constexpr std::int64_t kBatchesAtOnce = 200;

Error cursor_ahead(EventSeq after, EventSeq last) {
  return Error(Errc::kGone, "the cursor is newer than the newest event, " +
                                std::to_string(last.value()) + ": it is of another log")
      .with_field("after")
      .with_value(std::to_string(after.value()))
      .with_hint("list again, then watch from there");
}

Error no_longer_kept(EventSeq after, EventSeq oldest) {
  const std::string begin = std::to_string(oldest.value() - 1);
  return Error(Errc::kGone, "event " + std::to_string(after.value() + 1) +
                                " is no longer kept: the oldest is " +
                                std::to_string(oldest.value()))
      .with_field("after")
      .with_value(std::to_string(after.value()))
      .with_hint("begin there: runnel events --after " + begin);
}

// Most batches are of other jobs, and looking for the id costs a hundredth of parsing.
bool may_concern(const store::Batch& batch, const JobId& job) {
  return job.empty() || batch.events.find(job.str()) != std::string::npos;
}

// Adds the batch's events after page.through that are asked for. False once the page is full.
Result<bool> add_batch(const store::Batch& batch, const EventQuery& query, EventPage& page) {
  const EventSeq last(batch.next_event().value() - 1);
  if (last <= page.through) return true;
  if (!may_concern(batch, query.job)) {
    page.through = last;
    return true;
  }
  const json::Value list = TRY(json::parse(batch.events));
  const std::vector<model::Event> events = TRY(events_of(batch));
  for (std::size_t at = 0; at < events.size(); ++at) {
    const EventSeq seq(batch.first_event.value() + static_cast<std::int64_t>(at));
    if (seq <= page.through) continue;
    if (page.events.size() >= query.limit) return false;
    const JobId job = model::job_of(events[at]);
    page.through = seq;
    if (!query.job.empty() && job != query.job) continue;
    page.events.push_back({seq, job, event_document(seq, batch.now, list.as_list()[at].dump())});
  }
  return true;
}

}  // namespace

EventHub::EventHub(async::EventLoop& loop, LogWriter& writer)
    : writer_(writer), ring_(writer.state().last_event), grown_(loop) {}

void EventHub::publish(const std::vector<DurableBatch>& batches) {
  for (const DurableBatch& batch : batches) {
    CHECK(batch.ends.size() == batch.events.size(), "a batch has other documents than events");
    std::size_t begin = 0;
    std::int64_t seq = batch.first_event.value();
    for (std::size_t at = 0; at < batch.ends.size(); ++at, ++seq) {
      const std::string_view text =
          std::string_view(batch.json).substr(begin, batch.ends[at] - begin);
      ring_.push({EventSeq(seq), model::job_of(batch.events[at]),
                  event_document(EventSeq(seq), batch.now, text)});
      begin = batch.ends[at];
    }
    CHECK(begin == batch.json.size(), "the documents of a batch are not cut whole");
  }
  grown_.notify_all();
}

Async<EventPage> EventHub::read(EventQuery query) {
  if (query.after > ring_.last()) co_return cursor_ahead(query.after, ring_.last());
  if (auto recent = ring_.read(query)) co_return *std::move(recent);
  EventPage page = CO_TRY(co_await writer_.read<EventPage>(
      [query](store::LogReader& log) { return read_events(log, query, kBatchesPerRead); }));
  cut(page);
  co_return page;
}

// The log may have a batch already that nobody was told of.
void EventHub::cut(EventPage& page) const {
  page.through = std::min(page.through, ring_.last());
  std::erase_if(page.events, [this](const EventRecord& each) { return each.seq > ring_.last(); });
}

Async<EventSeq> EventHub::oldest() {
  co_return co_await writer_.read<EventSeq>(
      [](store::LogReader& log) -> Result<EventSeq> { return TRY(log.kept()).base.next_event; });
}

Async<async::Wake> EventHub::changed(EventSeq after, Duration patience, async::StopToken stop) {
  if (ring_.last() > after) co_return async::Wake::kNotified;
  co_return co_await grown_.wait_for(patience, std::move(stop));
}

Result<EventPage> read_events(store::LogReader& log, const EventQuery& query,
                              std::int64_t batches_max) {
  CHECK(query.limit > 0, "a page has room for at least one event");
  EventPage page;
  page.through = query.after;
  const EventSeq next(query.after.value() + 1);
  const store::Kept kept = TRY(log.kept());
  if (next >= kept.head.next_event) return page;
  const EventSeq oldest = kept.base.next_event;
  if (next < oldest) return no_longer_kept(query.after, oldest);
  const store::Batch first = TRY(log.find(next));
  if (!TRY(add_batch(first, query, page))) return page;
  BatchSeq at = first.seq;
  for (std::int64_t seen = 1; seen < batches_max && at < kept.head.last;) {
    const std::vector<store::Batch> batches = TRY(log.read(at, kBatchesAtOnce));
    for (const store::Batch& batch : batches) {
      if (!TRY(add_batch(batch, query, page))) return page;
    }
    if (batches.empty()) break;
    at = batches.back().seq;
    seen += std::ssize(batches);
  }
  return page;
}

}  // namespace runnel::control
