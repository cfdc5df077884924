#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/together.h"
#include "control/api.h"
#include "control/find_step.h"
#include "control/log_lines.h"
#include "http/event_stream.h"

namespace runnel::control {
namespace {

constexpr Duration kOutputPatience = Duration::seconds(15);
// Of output, encoded in one turn of the loop: some milliseconds.
constexpr std::size_t kEncodedATurn = std::size_t{16} << 10;

template <typename Id>
Result<std::optional<Id>> id_of(const http::Request& request, std::string_view name) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (text_of(request, name).empty()) return std::optional<Id>();
  const std::int64_t value = TRY(whole_of(request, name, 0, kMax));
  return std::optional(Id(static_cast<std::int32_t>(value)));
}

Result<bool> wants_raw(const http::Request& request) {
  const std::string format = text_of(request, "format");
  if (format.empty() || format == "json") return false;
  if (format == "raw") return true;
  return Error(Errc::kInvalid, "is no format of logs")
      .with_field("format")
      .with_value(format)
      .with_hint("write format=json or format=raw");
}

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

// Whether a runner here has begun a task of it.
bool has_run(const brain::Job& job) {
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    if (job.steps[step].started_at != Time() && !job.spec->steps[step].outside()) return true;
  }
  return false;
}

std::string_view type_of(StreamForm form, bool raw) {
  if (raw) return "text/plain; charset=utf-8";
  return form == StreamForm::kJsonLines ? http::kJsonLinesType : http::kEventStreamType;
}

}  // namespace

Result<model::LogFilter> Api::log_query(const http::Request& request, const JobId& job,
                                        const model::JobSpec* spec) const {
  TRY(known_only(
      request, {"step", "task", "attempt", "rank", "follow", "tail", "since", "format", "cursor"}));
  model::LogFilter query;
  query.job = job;
  query.task = TRY(id_of<TaskIndex>(request, "task"));
  query.attempt = TRY(id_of<AttemptNumber>(request, "attempt"));
  query.rank = TRY(id_of<std::int32_t>(request, "rank"));
  query.since = TRY(since_of(request, controller_.writer().now()));
  if (!text_of(request, "tail").empty()) query.tail = TRY(whole_of(request, "tail", 0, kTailMax));
  const std::string step = text_of(request, "step");
  if (spec == nullptr) {
    query.step = TRY(id_of<StepIndex>(request, "step"));
    return query;
  }
  if (!step.empty()) query.step = TRY(find_step(*spec, step));
  TRY(check_there(*spec, query));
  return query;
}

Async<http::Reply> Api::read_logs(http::Request request) {
  Result<JobId> found = co_await job_of_path(request);
  const JobId job = CO_TRY(std::move(found));
  Result<JobFacts> known = co_await facts_of(job);
  const auto [spec, ran] = CO_TRY(std::move(known));
  model::LogFilter query = CO_TRY(log_query(request, job, spec.get()));
  query.ran = ran;
  LogForm form;
  form.follow = CO_TRY(flag_of(request, "follow"));
  form.stream = stream_form_of(request);
  form.raw = CO_TRY(wants_raw(request));
  form.step_names = names_in(spec.get());
  std::string cursor = text_of(request, "cursor");
  const auto last_id = request.headers.find("last-event-id");
  if (cursor.empty() && last_id) cursor = *last_id;
  // Before the head of the answer, which could not say any more why there is no output.
  Result<LogRead> read = co_await read_page(query, std::move(cursor));
  const auto first = std::make_shared<LogRead>(CO_TRY(std::move(read)));
  co_return http::StreamResponse::of(std::string(type_of(form.stream, form.raw)),
                                     [this, query, first, form](http::StreamWriter& out) {
                                       return stream_logs(query, std::move(*first), form, out);
                                     });
}

bool Api::is_over(const JobId& job) const {
  auto found = controller_.state().jobs.find(job);
  return found == controller_.state().jobs.end() || model::is_end(found->second.status);
}

Async<Api::LogRead> Api::read_page(model::LogFilter query, std::string cursor) {
  // Asked before reading: what a job wrote before it ended is there when it has ended.
  query.over = is_over(query.job);
  if (query.over && !query.ran) {
    Result<JobFacts> facts = co_await facts_of(query.job);  // It may have begun meanwhile.
    query.ran = facts.ok() && facts->ran;
  }
  Result<model::LogPage> read = co_await logs_.read(query, std::move(cursor));
  co_return LogRead{CO_TRY(std::move(read)), query.over};
}

Async<void> Api::write_piece(const model::LogPiece& piece, const LogForm& form,
                             http::StreamWriter& out) {
  if (form.raw) co_return co_await out.write(piece.bytes);
  const bool is_event = form.stream == StreamForm::kServerSentEvents;
  const std::string name = step_name(piece, form.step_names);
  std::string text;
  for (LogLines lines(piece, name); !lines.done();) {
    lines.append(text, kEncodedATurn);
    if (lines.done()) break;
    if (!is_event) {
      Result<void> written = co_await out.write(std::exchange(text, {}));
      CO_TRY(std::move(written));
    }
    Result<void> turn = co_await loop_.sleep({});
    CO_TRY(std::move(turn));
  }
  if (is_event) {
    if (!text.empty()) text.pop_back();
    text = http::encode_sse({piece.cursor, "", std::move(text)});
  }
  co_return co_await out.write(std::move(text));
}

Async<void> Api::stream_logs(model::LogFilter query, LogRead read, LogForm form,
                             http::StreamWriter& out) {
  std::set<std::string> told;  // Damage; a file that lacks something lacks it on each page.
  for (;;) {
    const model::LogPage& page = read.page;
    std::string text;
    for (const std::string& sentence : page.damage) {
      if (!told.insert(sentence).second) continue;
      text += encode_damage(query.job, sentence, form.stream, form.raw);
    }
    Result<void> written = co_await out.write(std::move(text));
    CO_TRY(std::move(written));
    for (const model::LogPiece& piece : page.pieces) {
      written = co_await write_piece(piece, form, out);
      CO_TRY(std::move(written));
    }
    if (page.pieces.empty()) {
      if (read.over || form.follow == Flag::kOff) co_return {};
      Result<void> more = co_await more_output(query.job, out.gone());
      if (!more.ok() && more.error().code != Errc::kTimeout) co_return more;
      if (!more.ok() && !form.raw && form.stream == StreamForm::kServerSentEvents) {
        written = co_await out.write(http::sse_heartbeat());
        CO_TRY(std::move(written));
      }
    }
    Result<LogRead> next = co_await read_page(query, page.cursor);
    read = CO_TRY(std::move(next));
  }
}

Async<Api::JobFacts> Api::facts_of(JobId job) {
  Result<JobFacts> read =
      co_await controller_.about<JobFacts>(job, [](const brain::Job& known, EventSeq) {
        return Result(JobFacts{known.spec, has_run(known)});
      });
  if (!read.ok() && read.error().code == Errc::kGone) co_return JobFacts();
  co_return read;
}

// Returns when there may be more output, or a job has ended.
Async<void> Api::more_output(JobId job, async::StopToken stop) {
  std::vector<async::Stoppable<void>> either;
  either.emplace_back([this, job](async::StopToken lost) { return logs_.changed(job, lost); });
  either.emplace_back([this](async::StopToken lost) { return controller_.any_job_ended(lost); });
  either.emplace_back([this](async::StopToken lost) { return loop_.sleep(kOutputPatience, lost); });
  Result<async::Raced<void>> raced = co_await async::race(loop_, std::move(either), stop);
  const async::Raced<void> first = CO_TRY(std::move(raced));
  if (first.winner == 2 && first.result.ok()) {
    co_return Error(Errc::kTimeout, "nothing was written for a while");
  }
  co_return first.result;
}

}  // namespace runnel::control
