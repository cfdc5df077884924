#include "control/api/log_route.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/together.h"
#include "brain/places.h"
#include "control/find_step.h"
#include "control/log_lines.h"
#include "http/event_stream.h"

namespace runnel::control {
namespace {

constexpr Duration kOutputPatience = Duration::seconds(15);
// Bytes of output that are encoded in one turn of the loop: some milliseconds.
constexpr std::size_t kEncodedATurn = std::size_t{16} << 10;

std::string step_name(const model::LogPiece& piece, const std::vector<std::string>& names) {
  const auto step = static_cast<std::size_t>(piece.attempt.task.step.value());
  return step < names.size() ? names[step] : std::to_string(step);
}

Error not_there(const std::string& field, std::int64_t value, std::int64_t count) {
  return Error(Errc::kNotFound, "there is no " + field + " of this number")
      .with_field(field)
      .with_value(std::to_string(value))
      .with_hint("they are 0 to " + std::to_string(count - 1));
}

// An empty answer would hide a typing error.
Result<void> check_there(const model::JobSpec& spec, const model::LogFilter& query) {
  std::int64_t tasks = 1;
  std::int64_t ranks = 1;
  for (std::size_t step = 0; step < spec.steps.size(); ++step) {
    const bool other = query.step && static_cast<std::size_t>(query.step->value()) != step;
    if (other) continue;
    tasks = std::max(tasks, spec.steps[step].task_count);
    ranks = std::max<std::int64_t>(ranks, spec.steps[step].rank_count());
  }
  if (query.task && query.task->value() >= tasks) {
    return not_there("task", query.task->value(), tasks);
  }
  if (query.rank && *query.rank >= ranks) return not_there("rank", *query.rank, ranks);
  return {};
}

// Before the output of its page: who comes back after a break meets it again.
std::string encode_damage(const JobId& job, const std::string& sentence, StreamForm form,
                          bool raw) {
  if (raw) return "[runnel: " + sentence + "]\n";
  std::string line = damage_line(job, sentence);
  if (form == StreamForm::kJsonLines) return line;
  line.pop_back();
  return http::encode_sse({"", "damage", line});
}

std::string_view type_of(StreamForm form, bool raw) {
  if (raw) return "text/plain; charset=utf-8";
  return form == StreamForm::kJsonLines ? http::kJsonLinesType : http::kEventStreamType;
}

}  // namespace

std::vector<Route> LogRoute::table() {
  return {route({.path = "/jobs/{id}/logs",
                 .summary = "Output of a job's tasks; follow=1 goes on",
                 .answer = "",
                 .stream = "LogLine",
                 .headers = {"Last-Event-ID"},
                 .other_streams = {"text/plain"}},
                *this, &LogRoute::read)};
}

Result<model::LogFilter> LogRoute::filter_of(const LogsQuery& query, const JobId& job,
                                             const model::JobSpec* spec) const {
  model::LogFilter filter;
  filter.job = job;
  filter.task = query.task;
  filter.attempt = query.attempt;
  filter.rank = query.rank;
  if (query.since) filter.since = query.since->at(controller_.writer().now());
  filter.tail = query.tail;
  filter.step = TRY(step_of(spec, query.step));
  if (spec != nullptr) TRY(check_there(*spec, filter));
  return filter;
}

Async<http::Reply> LogRoute::read(Ask ask, LogsQuery wanted) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  const auto [spec, ran] = CO_TRY(co_await jobs_.facts(job));
  model::LogFilter query = CO_TRY(filter_of(wanted, job, spec.get()));
  query.ran = ran;
  LogForm form;
  form.follow = wanted.follow;
  form.stream = stream_form_of(ask.request);
  form.raw = wanted.format == LogFormat::kRaw;
  form.step_names = names_in(spec.get());
  form.ends_with_page = query.tail.has_value() && wanted.follow == Flag::kOff;
  std::string cursor = std::move(wanted.cursor);
  const auto last_id = ask.request.headers.find("last-event-id");
  if (cursor.empty() && last_id) cursor = *last_id;
  if (!cursor.empty()) form.ends_with_page = false;  // The tail was told before.
  // Before the head of the answer, which could not say any more why there is no output.
  const auto first =
      std::make_shared<LogRead>(CO_TRY(co_await read_page(query, std::move(cursor))));
  co_return http::StreamResponse::of(std::string(type_of(form.stream, form.raw)),
                                     [this, query, first, form](http::StreamWriter& out) {
                                       return stream_logs(query, std::move(*first), form, out);
                                     });
}

Async<LogRoute::LogRead> LogRoute::read_page(model::LogFilter query, std::string cursor) {
  // Asked before reading: what a job wrote before it ended is there when it has ended.
  query.over = CO_TRY(co_await jobs_.is_over(query.job));
  if (query.over && !query.ran) {
    Result<KnownJobs::Facts> facts =
        co_await jobs_.facts(query.job);  // It may have begun meanwhile.
    query.ran = facts.ok() && facts->ran;
  }
  co_return LogRead{CO_TRY(co_await logs_.read(brain::nodes_of(controller_.state(), query.job),
                                               query, std::move(cursor))),
                    query.over};
}

Async<void> LogRoute::write_piece(const model::LogPiece& piece, const LogForm& form,
                                  http::StreamWriter& out) {
  if (form.raw) co_return co_await out.write(piece.bytes);
  const bool is_event = form.stream == StreamForm::kServerSentEvents;
  const std::string name = step_name(piece, form.step_names);
  std::string text;
  for (LogLines lines(piece, name); !lines.done();) {
    lines.append(text, kEncodedATurn);
    if (lines.done()) break;
    if (!is_event) {
      CO_TRY(co_await out.write(std::exchange(text, {})));
    }
    CO_TRY(co_await loop_.sleep({}));
  }
  if (is_event) {
    if (!text.empty()) text.pop_back();
    text = http::encode_sse({piece.cursor, "", std::move(text)});
  }
  co_return co_await out.write(std::move(text));
}

Async<void> LogRoute::stream_logs(model::LogFilter query, LogRead read, LogForm form,
                                  http::StreamWriter& out) {
  std::set<std::string> told;  // Damage; a file that lacks something lacks it on each page.
  for (;;) {
    const model::LogPage& page = read.page;
    std::string text;
    for (const std::string& sentence : page.damage) {
      if (!told.insert(sentence).second) continue;
      text += encode_damage(query.job, sentence, form.stream, form.raw);
    }
    CO_TRY(co_await out.write(std::move(text)));
    for (const model::LogPiece& piece : page.pieces) {
      CO_TRY(co_await write_piece(piece, form, out));
    }
    if (form.ends_with_page) co_return {};
    if (page.pieces.empty()) {
      if (read.over || form.follow == Flag::kOff) co_return {};
      Result<void> more = co_await more_output(query.job, out.gone());
      if (!more.ok() && more.error().code != Errc::kTimeout) co_return more;
      if (!more.ok() && !form.raw && form.stream == StreamForm::kServerSentEvents) {
        CO_TRY(co_await out.write(http::sse_heartbeat()));
      }
    }
    read = CO_TRY(co_await read_page(query, page.cursor));
  }
}

// Returns when there may be more output, or a job has ended.
Async<void> LogRoute::more_output(JobId job, async::StopToken stop) {
  std::vector<async::Stoppable<void>> either;
  either.emplace_back([this, job](async::StopToken lost) {
    return logs_.changed(brain::nodes_of(controller_.state(), job), job, lost);
  });
  either.emplace_back([this](async::StopToken lost) { return controller_.any_job_ended(lost); });
  either.emplace_back([this](async::StopToken lost) { return loop_.sleep(kOutputPatience, lost); });
  const async::Raced<void> first = CO_TRY(co_await async::race(loop_, std::move(either), stop));
  if (first.winner == 2 && first.result.ok()) {
    co_return Error(Errc::kTimeout, "nothing was written for a while");
  }
  co_return first.result;
}

}  // namespace runnel::control
