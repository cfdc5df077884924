#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/branches_of_job.h"
#include "cli/commands.h"
#include "cli/job_end.h"
#include "cli/job_state.h"
#include "cli/lost_work.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/shell_secrets.h"
#include "cli/target.h"
#include "env/clock.h"
#include "home/pause.h"
#include "json/writer.h"
#include "model/codec.h"
#include "model/input.h"

namespace runnel::cli {
namespace {

constexpr Duration kAskEvery = Duration::millis(50);
// An attempt may take long over its end; then it is better seen to than waited for.
constexpr Duration kEndingWaitMax = Duration::seconds(60);
constexpr int kTimedOut = 124;  // As timeout(1).

std::string verb_of(Command command) {
  switch (command) {
    case Command::kCancel: return "cancel";
    case Command::kHalt: return "halt";
    case Command::kResume: return "resume";
    case Command::kRetry: return "retry";
    default: return "";
  }
}

// What a job used was wiped when it ended: its retry brings what this shell has.
Result<std::string> retry_body(Session& session, const std::string& job) {
  const json::Value document = TRY(session.get(job_target(job, "?include=spec")));
  const json::Value* spec = document.find("spec");
  if (spec == nullptr || !can_be_retried(document)) return std::string();
  const model::JobSpec read = TRY(model::decode_job_spec(*spec, "spec"));
  const ShellSecrets secrets = TRY(shell_secrets(read, "retry"));
  std::string body;
  json::Writer out(body);
  out.begin_object();
  write_secrets(out, secrets);
  out.end_object();
  return body;
}

// With what its tasks wrote to volumes and nobody has merged, which only who asks has the keys of.
Result<json::Value> delete_job(Session& session, const std::string& job) {
  const Result<json::Value> known = session.get(job_target(job, "?include=spec"));
  json::Value deleted = TRY(session.remove(job_target(job, "")));
  const json::Value* const spec = known.ok() ? known->find("spec") : nullptr;
  if (spec == nullptr) return deleted;
  const Result<model::JobSpec> read = model::decode_job_spec(*spec, "spec");
  if (read.ok()) remove_branches_of(text_of(*known, "id"), *read);
  return deleted;
}

Result<json::Value> act_on(Session& session, Command command, const std::string& job) {
  if (command == Command::kDelete) return delete_job(session, job);
  const bool retry = command == Command::kRetry;
  const std::string body = retry ? TRY(retry_body(session, job)) : std::string();
  return session.post(job_target(job, ":" + verb_of(command)), body);
}

// Once it is deleted nobody knows: "1m83... (digits)", and whether outputs go with it.
Result<std::string> farewell(Session& session, const std::string& job) {
  const json::Value document = TRY(session.get(job_target(job)));
  const std::string id = text_of(document, "id");
  return "deleted " + id + " (" + text_of(document, "name") + ")" +
         (has_outputs(session.home(), id) ? "; its outputs are being removed" : "");
}

std::string outcome_of(Command command, const json::Value& answer) {
  const std::string id = text_of(answer, "id");
  if (command == Command::kCancel && !has_ended(answer)) return id + ": cancelling";
  if (command == Command::kHalt && !has_settled(answer)) return id + ": pausing";
  return id + ": " + text_of(answer, "status");
}

// SkyPilot's codes, on request; else the job's own.
int wait_code(const Arguments& arguments, const json::Value& job) {
  if (arguments.status) return status_code(job);
  return static_cast<int>(number_of(job, "exit_code", has_ended(job) ? 1 : kStatusNotFinished));
}

// The job once it has settled; nothing when the time is over.
Result<std::optional<json::Value>> settle(Session& session, const std::string& job,
                                          std::optional<Duration> until) {
  for (;;) {
    json::Value document = TRY(session.get(job_target(job)));
    if (has_settled(document)) return std::optional<json::Value>(std::move(document));
    if (until.has_value() && env::real_clock().boot() >= *until)
      return std::optional<json::Value>();
    home::pause(kAskEvery);
  }
}

struct Acted {
  json::Value answer;
  std::string told;  // What a person reads.
};

Result<Acted> act_and_tell(Session& session, const Arguments& arguments, const std::string& job) {
  if (is_document(arguments.output)) {
    return Acted{TRY(act_on(session, arguments.command, job)), ""};
  }
  const bool goes = arguments.command == Command::kDelete;
  const std::string last = goes ? TRY(farewell(session, job)) : "";
  const bool pauses = arguments.command == Command::kHalt;
  const std::string lost = pauses ? work_lost_by_pause(session, job) : "";
  const json::Value answer = TRY(act_on(session, arguments.command, job));
  if (goes) return Acted{answer, last};
  const std::string outcome = outcome_of(arguments.command, answer);
  return Acted{answer, lost.empty() ? outcome : outcome + "; " + lost};
}

// What was halted a moment ago may still be ending: `runnel halt ID; runnel resume ID` works.
bool still_ends(const Result<Acted>& acted) {
  return !acted.ok() && acted.error().code == Errc::kConflict &&
         acted.error().field == model::kEndingAttempts;
}

Result<Acted> act_once_ended(Session& session, const Arguments& arguments, const std::string& job) {
  const Duration until = env::real_clock().boot() + kEndingWaitMax;
  for (bool told = false;;) {
    Result<Acted> acted = act_and_tell(session, arguments, job);
    if (!still_ends(acted) || env::real_clock().boot() >= until) return acted;
    if (!std::exchange(told, true)) say("runnel: waiting: " + acted.error().message);
    home::pause(kAskEvery);
  }
}

// What came of all jobs.
struct Acts {
  int code = 0;
  json::Value::List answers;

  void take(Result<Acted> acted) {
    if (!acted.ok()) {
      code = complain(acted.error());
      answers.push_back(error_document(acted.error()));
      return;
    }
    if (!acted->told.empty()) say(acted->told);
    answers.push_back(std::move(acted->answer));
  }
};

}  // namespace

int act(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  Acts acts;
  std::vector<std::string> later;  // Nobody waits for the end of another job.
  for (const std::string& job : arguments.jobs) {
    Result<Acted> acted = act_and_tell(session, arguments, job);
    if (still_ends(acted)) {
      later.push_back(job);
    } else {
      acts.take(std::move(acted));
    }
  }
  for (const std::string& job : later) acts.take(act_once_ended(session, arguments, job));
  if (is_document(arguments.output)) {
    put(document_of_all(std::move(acts.answers), arguments.output));
  }
  return acts.code;
}

int wait_for_jobs(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  std::optional<Duration> until;
  if (arguments.timeout.has_value()) {
    Result<Duration> patience = parse_duration(*arguments.timeout);
    if (!patience.ok()) return fail(Error(patience.error()).with_field("--timeout"));
    until = env::real_clock().boot() + *patience;
  }
  int worst = 0;
  for (const std::string& job : arguments.jobs) {
    const Result<std::optional<json::Value>> document = settle(session, job, until);
    if (!document.ok()) {
      const bool unknown = document.error().code == Errc::kNotFound && arguments.status;
      const int code = fail(document.error());
      return unknown ? kStatusNotFound : code;
    }
    if (!document->has_value()) {
      say("runnel: " + job + " has not ended after " + *arguments.timeout);
      return arguments.status ? kStatusNotFinished : kTimedOut;
    }
    if (is_document(arguments.output)) {
      put(stream_item(**document, arguments.output));
    } else if (can_be_retried(**document) && !arguments.status) {
      say_end(session, **document, EndStyle::kWithOutput);
    }
    worst = std::max(worst, wait_code(arguments, **document));
  }
  return worst;
}

}  // namespace runnel::cli
