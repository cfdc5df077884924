#include "cli/job_end.h"

#include <string>

#include "base/check.h"
#include "base/units.h"
#include "cli/best_text.h"
#include "cli/better_pruned.h"
#include "cli/cost_text.h"
#include "cli/failed_trials.h"
#include "cli/failure.h"
#include "cli/job_state.h"
#include "cli/print.h"
#include "env/clock.h"
#include "env/disk_probe.h"
#include "env/files.h"

namespace runnel::cli {
namespace {

// "job ID: FAILED in 3.0 s"
std::string status_line(const json::Value& job) {
  const std::string elapsed = elapsed_text(job);
  return "job " + text_of(job, "id") + ": " + text_of(job, "status") +
         (elapsed.empty() ? "" : " in " + elapsed);
}

// The folder that all tasks share, when something was left in it; else where they ran.
std::string outputs_line(const home::Home& home, const json::Value& job) {
  const std::string shared = shared_outputs(home, text_of(job, "id"));
  if (!shared.empty()) return "outputs: " + shared;
  const std::string workdir = text_of(job, "workdir");
  return workdir.empty() ? "" : "workdir: " + workdir;
}

// The cause, and behind it, or below, the commands for more.
void say_failure(Session& session, const json::Value& job, EndStyle style) {
  const std::string id = text_of(job, "id");
  const std::string message = text_of(job, "message");
  Failure failure(session, job);
  if (style == EndStyle::kShort) {
    const std::string& why = failure.is_known() ? failure.cause() : message;
    say(status_line(job) + (why.empty() ? "" : ": " + why) + "; retry: runnel retry " + id);
    return;
  }
  say(message.empty() ? status_line(job) : status_line(job) + ": " + message);
  if (failure.is_known()) say(failure.cause());
  if (failure.is_known() && style == EndStyle::kWithOutput) {
    for (const std::string& line : failure.output_block()) say(line);
  }
  if (failure.is_known()) say("output:  " + failure.logs_command());
  say("tasks:   runnel show --tasks " + id);
  say("retry:   runnel retry " + id);
  say("         runs the job as it was submitted; after a change of the job file: runnel run FILE");
}

// What came of a search, and what of it the best trial does not show.
void say_search(Session& session, const std::string& job, const json::Value& step) {
  const std::string lines[] = {best_line(step), failed_trials(session, job, step),
                               better_pruned_note(session, job, step)};
  for (const std::string& line : lines) {
    if (!line.empty()) say(line);
  }
}

}  // namespace

bool is_there_soon(const std::string& folder) {
  constexpr Duration kPatience = Duration::seconds(1);
  return env::probe_path(folder, kPatience).ok() && env::exists(folder);
}

std::string shared_outputs(const home::Home& home, const std::string& job) {
  const std::string shared = home.shared_folder(job);
  if (!is_there_soon(shared)) return "";
  const auto left = env::list_directory(shared);
  return left.ok() && !left->empty() ? shared : "";
}

void say_end(Session& session, const json::Value& job, EndStyle style) {
  CHECK(has_ended(job), "the end of a job that goes on");
  if (text_of(job, "status") == "SUCCEEDED") {
    say(status_line(job));
  } else {
    say_failure(session, job, style);
  }
  if (style == EndStyle::kShort) return;
  for (const json::Value& step : list_at(job, "steps"))
    say_search(session, text_of(job, "id"), step);
  const std::string outputs = outputs_line(session.home(), job);
  if (!outputs.empty()) say(outputs);
  const std::string cost = cost_text(job, env::real_clock().wall());
  if (!cost.empty()) say("cost: " + cost);
}

}  // namespace runnel::cli
