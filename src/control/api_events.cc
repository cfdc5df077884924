#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "control/api.h"
#include "http/event_stream.h"
#include "json/value.h"

namespace runnel::control {
namespace {

constexpr std::int64_t kSeqMax = std::numeric_limits<std::int64_t>::max();
constexpr Duration kHeartbeat = Duration::seconds(15);

// The cursor that the request gives, if any.
Result<std::optional<EventSeq>> cursor_of(const http::Request& request) {
  if (!text_of(request, "after").empty()) {
    return std::optional(EventSeq(TRY(whole_of(request, "after", 0, kSeqMax))));
  }
  // A browser or SSE client that reconnects says where it was in this header.
  const auto last_id = request.headers.find("last-event-id");
  if (!last_id) return std::optional<EventSeq>();
  http::Request resumed = http::Request::get("/");
  resumed.query.emplace_back("after", std::string(*last_id));
  return std::optional(EventSeq(TRY(whole_of(resumed, "after", 0, kSeqMax))));
}

std::string encode(const EventPage& page, StreamForm form) {
  std::string text;
  for (const EventRecord& event : page.events) {
    if (form == StreamForm::kJsonLines) {
      text += event.document + "\n";
    } else {
      text += http::encode_sse({std::to_string(event.seq.value()), "", event.document});
    }
  }
  return text;
}

// A page of history as one document.
std::string encode_list(const EventPage& page) {
  std::string text = "{\"events\":[";
  for (std::size_t at = 0; at < page.events.size(); ++at) {
    if (at > 0) text += ",";
    text += page.events[at].document;
  }
  text += "],\"through\":" + std::to_string(page.through.value()) + "}";
  return text;
}

}  // namespace

Async<http::Reply> Api::all_events(http::Request request) {
  return events(std::move(request), JobId());
}

Async<http::Reply> Api::job_events(http::Request request) {
  Result<JobId> found = co_await job_of_path(request);
  const JobId job = CO_TRY(std::move(found));
  co_return co_await events(std::move(request), job);
}

// Of an archived job its record tells; a record that does not is read from the log's beginning.
Async<EventSeq> Api::first_event_of(JobId job) {
  Result<std::string> read = co_await document_of(job, JobView::kRow);
  const json::Value document = CO_TRY(json::parse(CO_TRY(std::move(read))));
  const json::Value* first = document.find("first_event");
  co_return EventSeq(first != nullptr && first->is_int() ? first->as_int() : 1);
}

// Before the oldest event that is kept: what is older was pruned or lost in a repair.
Async<EventSeq> Api::beginning() {
  Result<EventSeq> oldest = co_await controller_.events().oldest();
  co_return EventSeq(CO_TRY(std::move(oldest)).value() - 1);
}

// One list, or with `watch` a stream that goes on; `until=end` ends the stream with the job.
Async<http::Reply> Api::events(http::Request request, JobId job) {
  CO_TRY(known_only(request, {"after", "limit", "watch", "until"}));
  const std::optional<EventSeq> given = CO_TRY(cursor_of(request));
  EventQuery query;
  query.job = job;
  query.limit = static_cast<std::size_t>(CO_TRY(limit_of(request)));
  const Flag watched = CO_TRY(flag_of(request, "watch"));
  query.after = given.value_or(EventSeq());
  if (!given) {
    Result<EventSeq> begin = co_await beginning();
    query.after = CO_TRY(std::move(begin));
  }
  if (!query.job.empty()) {  // Nothing of a job lies before its submission.
    Result<EventSeq> first = co_await first_event_of(query.job);
    query.after = std::max(query.after, EventSeq(CO_TRY(std::move(first)).value() - 1));
  }
  // A cursor that is too old or too new is told here: a stream could only break.
  EventQuery first = query;
  Result<EventPage> read = co_await controller_.events().read(std::move(first));
  const EventPage page = CO_TRY(std::move(read));
  if (watched == Flag::kOff) co_return http::Response::json_text(encode_list(page));
  const StreamForm form = stream_form_of(request);
  const bool until_end = text_of(request, "until") == "end";
  co_return http::StreamResponse::of(
      std::string(form == StreamForm::kJsonLines ? http::kJsonLinesType : http::kEventStreamType),
      [this, query, until_end, form](http::StreamWriter& out) {
        return watch(query, until_end, form, out);
      });
}

Async<void> Api::watch(EventQuery query, bool until_end, StreamForm form, http::StreamWriter& out) {
  EventHub& hub = controller_.events();
  for (;;) {
    bool over = until_end && is_over(query.job);
    if (over) {  // The state may know of an end whose event is not published yet.
      Result<Settled> settled = co_await controller_.writer().settled();
      const Settled outcome = CO_TRY(std::move(settled));
      over = outcome == Settled::kDurable && is_over(query.job);
    }
    const EventSeq last = hub.last();
    Result<EventPage> read = co_await hub.read(query);
    const EventPage page = CO_TRY(std::move(read));
    query.after = page.through;
    Result<void> written = co_await out.write(encode(page, form));
    CO_TRY(std::move(written));
    if (page.through < last) continue;
    if (over) co_return {};
    Result<async::Wake> woken = co_await hub.changed(query.after, kHeartbeat, out.gone());
    const async::Wake wake = CO_TRY(std::move(woken));
    if (wake == async::Wake::kNotified || form == StreamForm::kJsonLines) continue;
    written = co_await out.write(http::sse_heartbeat());
    CO_TRY(std::move(written));
  }
}

}  // namespace runnel::control
