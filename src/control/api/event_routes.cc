#include "control/api/event_routes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "http/event_stream.h"
#include "json/value.h"

namespace runnel::control {
namespace {

constexpr Duration kHeartbeat = Duration::seconds(15);

// A browser or SSE client that reconnects says in a header where it was.
Result<std::optional<EventSeq>> cursor_of(const http::Request& request, const EventsQuery& query) {
  const auto last_id = request.headers.find("last-event-id");
  if (query.after || !last_id) return query.after;
  http::Request resumed = http::Request::get("/");
  resumed.query.emplace_back("after", std::string(*last_id));
  return TRY(read_query<EventsQuery>(resumed)).after;
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

std::vector<Route> EventRoutes::table() {
  const auto told = [](std::string_view path, std::string_view summary) {
    return Operation{.path = path,
                     .summary = summary,
                     .answer = "EventPage",
                     .stream = "Event",
                     .headers = {"Last-Event-ID"}};
  };
  return {
      route(told("/jobs/{id}/events", "What happened to a job; watch=1 goes on"), *this,
            &EventRoutes::of_job),
      route(told("/events", "What happened; watch=1 goes on"), *this, &EventRoutes::of_all),
  };
}

Async<http::Reply> EventRoutes::of_all(Ask ask, EventsQuery wanted) {
  return events(std::move(ask), wanted, JobId());
}

Async<http::Reply> EventRoutes::of_job(Ask ask, EventsQuery wanted) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  co_return co_await events(std::move(ask), wanted, job);
}

// The record of an archived job tells; where it does not, events are read from the log's beginning.
Async<EventSeq> EventRoutes::first_event_of(JobId job) {
  const json::Value document =
      CO_TRY(json::parse(CO_TRY(co_await jobs_.document(job, JobView::kRow))));
  const json::Value* first = document.find("first_event");
  co_return EventSeq(first != nullptr && first->is_int() ? first->as_int() : 1);
}

// Before the oldest event that is kept: what is older was pruned or lost in a repair.
Async<EventSeq> EventRoutes::beginning() {
  co_return EventSeq(CO_TRY(co_await controller_.events().oldest()).value() - 1);
}

// One list, or with `watch` a stream that goes on; `until=end` ends the stream with the job.
Async<http::Reply> EventRoutes::events(Ask ask, EventsQuery wanted, JobId job) {
  const std::optional<EventSeq> given = CO_TRY(cursor_of(ask.request, wanted));
  EventQuery query;
  query.job = job;
  query.limit = static_cast<std::size_t>(wanted.limit);
  query.after = given.value_or(EventSeq());
  if (!given) {
    query.after = CO_TRY(co_await beginning());
  }
  if (!query.job.empty()) {  // Nothing of a job lies before its submission.
    query.after =
        std::max(query.after, EventSeq(CO_TRY(co_await first_event_of(query.job)).value() - 1));
  }
  // A cursor that is too old or too new is told here: a stream could only break.
  const EventPage page = CO_TRY(co_await controller_.events().read(query));
  if (wanted.watch == Flag::kOff) co_return http::Response::json_text(encode_list(page));
  const StreamForm form = stream_form_of(ask.request);
  const bool until_end = wanted.until == Until::kEnd;
  co_return http::StreamResponse::of(
      std::string(form == StreamForm::kJsonLines ? http::kJsonLinesType : http::kEventStreamType),
      [this, query, until_end, form](http::StreamWriter& out) {
        return watch(query, until_end, form, out);
      });
}

Async<void> EventRoutes::watch(EventQuery query, bool until_end, StreamForm form,
                               http::StreamWriter& out) {
  EventHub& hub = controller_.events();
  for (;;) {
    bool over = false;
    if (until_end) {
      over = CO_TRY(co_await jobs_.is_over(query.job));
    }
    const EventSeq last = hub.last();
    const EventPage page = CO_TRY(co_await hub.read(query));
    query.after = page.through;
    CO_TRY(co_await out.write(encode(page, form)));
    if (page.through < last) continue;
    if (over) co_return {};
    const async::Wake wake = CO_TRY(co_await hub.changed(query.after, kHeartbeat, out.gone()));
    if (wake == async::Wake::kNotified || form == StreamForm::kJsonLines) continue;
    CO_TRY(co_await out.write(http::sse_heartbeat()));
  }
}

}  // namespace runnel::control
