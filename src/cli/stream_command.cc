#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job_state.h"
#include "cli/log_stream.h"
#include "cli/moment_text.h"
#include "cli/output_line.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/session.h"
#include "cli/target.h"

namespace runnel::cli {
namespace {

constexpr Duration kLineWithin = Duration::seconds(1);
constexpr int kOutputDamaged = 1;
constexpr std::int64_t kEventsPage = 1'000;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::string logs_target(const Arguments& arguments, const std::string& job) {
  std::string target = job_target(job, arguments.follow ? "/logs?follow=1" : "/logs?follow=0");
  const auto add = [&target](const char* name, const std::string& value) {
    target = with_query(std::move(target), name, value);
  };
  if (arguments.step) add("step", *arguments.step);
  if (arguments.task) add("task", std::to_string(*arguments.task));
  if (arguments.attempt) add("attempt", std::to_string(*arguments.attempt));
  if (arguments.rank) add("rank", std::to_string(*arguments.rank));
  if (arguments.tail) add("tail", std::to_string(*arguments.tail));
  if (arguments.since) add("since", *arguments.since);
  return target;
}

// Copies a stream's documents out until it ends, there were `most`, or Ctrl-C, which just leaves.
template <typename Print>
int copy(LineStream& stream, std::int64_t most, Print print) {
  for (std::int64_t printed = 0; printed < most && !stream.ended();) {
    auto line = stream.next(kLineWithin);
    if (interrupts() > 0) return 130;
    if (!line.ok()) return fail(line.error());
    if (!line->has_value()) continue;
    print(**line);
    ++printed;
  }
  return 0;
}

int copy_logs(const Arguments& arguments, Session& session, const std::string& job) {
  const Result<json::Value> known = session.get(job_target(job));
  if (!known.ok()) {
    const int code = fail(known.error());
    return arguments.status && known.error().code == Errc::kNotFound ? kStatusNotFound : code;
  }
  if (arguments.status) return status_code(*known);
  const bool many = has_many_ranks(*known) && !arguments.task.has_value();
  LineStream stream(session, logs_target(arguments, job), "cursor", "cursor");
  bool whole = true;
  const int code = copy(stream, kUnlimited, [&](const json::Value& line) {
    whole = whole && damage_of(line).empty();
    print_output(line, arguments.output, many);
  });
  return code == 0 && !whole ? kOutputDamaged : code;
}

// The names of a job's steps, whose events have their numbers. Nothing of a whole home, which may
// have very many jobs: there numbers are shown.
using StepNames = std::vector<std::string>;

StepNames step_names(const Arguments& arguments, Session& session) {
  StepNames names;
  if (arguments.jobs.empty() || is_document(arguments.output)) return names;
  const Result<json::Value> job = session.get(job_target(arguments.jobs.front()));
  if (!job.ok()) return names;  // The events themselves tell that there is no such job.
  for (const json::Value& step : list_at(*job, "steps")) names.push_back(text_of(step, "name"));
  return names;
}

// "1m7z.../train/3#2": what an event is about, as far as it names it.
std::string subject_of(const json::Value& event, const StepNames& names) {
  const json::Value* attempt = event.find("attempt");
  const json::Value& of = attempt != nullptr && attempt->is_object() ? *attempt : event;
  std::string subject = text_of(of, "job");
  if (subject.empty()) subject = text_of(event, "node", text_of(event, "queue", "-"));
  if (&of == &event && event.find("step") == nullptr) return subject;
  const std::int64_t step = number_of(of, "step");
  const bool named = step >= 0 && step < static_cast<std::int64_t>(names.size());
  subject += "/" + (named ? names[static_cast<std::size_t>(step)] : std::to_string(step));
  if (&of == &event) return subject;
  return subject + "/" + std::to_string(number_of(of, "task")) + "#" +
         std::to_string(number_of(of, "number", 1));
}

bool is_machinery(std::string_view key) {
  return key == "seq" || key == "time" || key == "type" || key == "spec" || key == "attempt" ||
         key == "job" || key == "step" || key == "body_hash" || key == "idempotency_key" ||
         key == "started_at" || key == "ended_at";
}

// A stream has no widest cell to wait for: what usually fits is aligned.
std::string event_line(const Arguments& arguments, const json::Value& event,
                       const StepNames& names) {
  const bool tabs = arguments.output == Output::kTsv;
  const auto cell = [tabs](std::string text, std::size_t width) {
    if (tabs) return text + "\t";
    if (text.size() < width) text.resize(width, ' ');
    return text + "  ";
  };
  const std::string when = text_of(event, "time");
  std::string line = cell(std::to_string(number_of(event, "seq")), 5) +
                     cell(tabs ? when : moment_text(when), 19) + cell(text_of(event, "type"), 16) +
                     subject_of(event, names);
  for (const auto& [key, value] : event.as_object()) {
    if (is_machinery(key)) continue;
    line += (tabs ? "\t" : "  ") + printable(key) + "=" +
            printable(value.is_text() ? value.as_text() : value.dump());
  }
  return line + "\n";
}

void print_event(const Arguments& arguments, const json::Value& event, const StepNames& names) {
  put(is_document(arguments.output) ? stream_item(event, arguments.output)
                                    : event_line(arguments, event, names));
}

int page_events(const Arguments& arguments, Session& session, const std::string& base) {
  const StepNames names = step_names(arguments, session);
  std::optional<std::int64_t> after = arguments.after;  // None: from the oldest that is kept.
  std::int64_t left = arguments.events_max.value_or(kUnlimited);
  while (left > 0) {
    std::string target = with_query(base, "limit", std::to_string(std::min(left, kEventsPage)));
    if (after) target = with_query(std::move(target), "after", std::to_string(*after));
    const Result<json::Value> page = session.get(target);
    if (!page.ok()) return fail(page.error());
    const json::Value* list = page->find("events");
    const std::int64_t through = number_of(*page, "through");
    if (list != nullptr && list->is_list()) {
      for (const json::Value& event : list->as_list()) print_event(arguments, event, names);
      left -= static_cast<std::int64_t>(list->as_list().size());
    }
    if (after && through <= *after) return 0;
    after = through;
  }
  return 0;
}

}  // namespace

int logs(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  watch_interrupts();
  int worst = 0;
  for (const std::string& job : arguments.jobs) {
    const int code = copy_logs(arguments, session, job);
    if (code != 0 && code != kOutputDamaged) return code;
    worst = std::max(worst, code);
  }
  return worst;
}

int events(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  const std::string base =
      arguments.jobs.empty() ? "/api/v1/events" : job_target(arguments.jobs.front(), "/events");
  if (!arguments.watch) return page_events(arguments, session, base);
  watch_interrupts();
  const StepNames names = step_names(arguments, session);
  LineStream stream(session, base + "?watch=1&limit=1000", "seq", "after",
                    arguments.after ? std::to_string(*arguments.after) : "");
  return copy(stream, arguments.events_max.value_or(kUnlimited),
              [&](const json::Value& event) { print_event(arguments, event, names); });
}

}  // namespace runnel::cli
