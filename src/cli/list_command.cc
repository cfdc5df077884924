#include <cmath>
#include <cstdlib>
#include <string>

#include "cli/commands.h"
#include "cli/devices_text.h"
#include "cli/failure.h"
#include "cli/job_state.h"
#include "cli/moment_text.h"
#include "cli/pages.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/session.h"
#include "cli/silence.h"
#include "cli/target.h"
#include "cli/wait_line.h"
#include "home/pause.h"

namespace runnel::cli {
namespace {

std::int64_t counted(const json::Value& job, std::string_view status) {
  const json::Value* counts = job.find("counts");
  return counts == nullptr ? 0 : number_of(*counts, status);
}

std::string done_of(const json::Value& job) {
  const std::int64_t done = counted(job, "SUCCEEDED") + counted(job, "PRUNED");
  return std::to_string(done) + "/" + std::to_string(number_of(job, "tasks"));
}

std::string jobs_table(const json::Value& list, bool wide) {
  std::vector<std::string> header = {"ID",      "NAME",   "STATUS", "DONE",
                                     "RUNNING", "FAILED", "ELAPSED"};
  if (wide) header.insert(header.end(), {"SUBMITTED", "STARTED", "PRIORITY", "OWNER", "REASON"});
  Table table(header);
  const json::Value* jobs = list.find("jobs");
  if (jobs == nullptr || !jobs->is_list()) return "";
  for (const json::Value& job : jobs->as_list()) {
    const std::int64_t failed =
        counted(job, "FAILED") + counted(job, "TIMEOUT") + counted(job, "OUT_OF_MEMORY");
    std::vector<std::string> row = {text_of(job, "id"),
                                    text_of(job, "name"),
                                    text_of(job, "status"),
                                    done_of(job),
                                    std::to_string(counted(job, "RUNNING")),
                                    std::to_string(failed),
                                    or_dash(elapsed_text(job))};
    if (wide) {
      row.insert(row.end(), {moment_text(text_of(job, "submitted_at")),
                             or_dash(moment_text(text_of(job, "started_at"))),
                             std::to_string(number_of(job, "priority")), text_of(job, "owner"),
                             text_of(job, "reason", "-")});
    }
    table.add(row);
  }
  return table_text(table);
}

std::string names(const json::Value& list) {
  std::string text;
  const json::Value* jobs = list.find("jobs");
  if (jobs == nullptr || !jobs->is_list()) return text;
  for (const json::Value& job : jobs->as_list()) text += text_of(job, "id") + "\n";
  return text;
}

// "98 %" of a core, "12 MiB"; of GPUs a machine without them tells nothing.
std::string percent_of(const json::Value& task, std::string_view key) {
  const json::Value* value = task.find(key);
  if (value == nullptr || value->is_null()) return "-";
  const std::string text = scalar_text(*value);
  return std::to_string(std::llround(std::strtod(text.c_str(), nullptr) * 100)) + " %";
}

std::string bytes_of(const json::Value& task, std::string_view key) {
  const json::Value* value = task.find(key);
  return value == nullptr || value->is_null() ? "-" : human(Bytes::count(value->as_int()));
}

// The names are those that `logs` takes.
std::string tasks_table(const std::string& job, const json::Value& answer) {
  const json::Value::List& tasks = list_at(answer, "tasks");
  const bool devices = any_has_devices(tasks);
  std::vector<std::string> header = {"NAME", "STATE", "NODE", "CPU", "RAM", "GPU", "GPU RAM"};
  if (devices) header.emplace_back("DEVICES");
  Table table(header);
  for (const json::Value& task : tasks) {
    std::string nodes;
    for (const json::Value& node : list_at(task, "nodes")) {
      nodes += (nodes.empty() ? "" : ",") + printable(node.as_text());
    }
    std::vector<std::string> row = {
        job + "/" + text_of(task, "step") + "/" + std::to_string(number_of(task, "task")),
        text_of(task, "status"),
        nodes.empty() ? "-" : nodes,
        percent_of(task, "cpus"),
        bytes_of(task, "memory"),
        percent_of(task, "gpu"),
        bytes_of(task, "gpu_memory")};
    if (devices) row.push_back(placed_devices_text(task));
    table.add(std::move(row));
  }
  return table_text(table);
}

// One job's running tasks.
int print_tasks(const Arguments& arguments, Session& session) {
  const Result<json::Value> answer = session.get(job_target(arguments.jobs.front(), "/usage"));
  if (!answer.ok()) return fail(answer.error());
  put(is_document(arguments.output) ? document(*answer, arguments.output)
                                    : tasks_table(arguments.jobs.front(), *answer));
  return 0;
}

int print_jobs(const Arguments& arguments, Session& session) {
  const std::string target = arguments.all ? "/api/v1/jobs" : "/api/v1/jobs?filter=unfinished";
  const Result<json::Value> list = read_pages(session, target, "jobs", arguments.limit);
  if (!list.ok()) return fail(list.error());
  switch (arguments.output) {
    case Output::kJson:
    case Output::kYaml: put(document(*list, arguments.output)); break;
    case Output::kName: put(names(*list)); break;
    default: put(jobs_table(*list, is_whole(arguments.output)));
  }
  const bool is_table = !is_document(arguments.output) && arguments.output != Output::kName;
  if (is_table && !arguments.all && list_at(*list, "jobs").empty()) {
    say("no job runs or waits; those that have ended: runnel ps -a");
  }
  tell_of_more(*list, arguments.limit);
  const Result<json::Value> info = session.get("/api/v1/home");
  if (!info.ok()) return fail(info.error());
  tell_of_silence(*info);
  return 0;
}

// "job 1m83... has ended: FAILED: step 'train': 3 tasks failed, first task 0 (NonZeroExit); train/0
// ended with exit code 1 (...)"
std::string ended_text(Session& session, const json::Value& job) {
  std::string text = "job " + text_of(job, "id") + " has ended: " + text_of(job, "status");
  const std::string message = text_of(job, "message");
  if (!message.empty()) text += ": " + message;
  Failure failure(session, job);
  if (!failure.is_known()) return paragraph(text) + "\n";
  text += "; " + failure.cause() + "; see: " + failure.logs_command();
  text = paragraph(text) + "\n";
  for (const std::string& line : failure.output_block()) text += paragraph(line) + "\n";
  return text;
}

// Nothing of a job that has ended waits: what counts then is how it ended.
Result<std::string> explain_text(Session& session, const std::string& job) {
  const json::Value explanation = TRY(session.get(job_target(job, "/explain")));
  std::string text;
  for (const json::Value& wait : list_at(explanation, "waits")) {
    text += paragraph(wait_line(wait)) + "\n";
  }
  if (!text.empty()) return text;
  const json::Value document = TRY(session.get(job_target(job)));
  return has_ended(document) ? ended_text(session, document) : job + ": nothing waits\n";
}

// As in the text: how it ended, and of a failure the cause and what it wrote last.
void add_end(json::Value& explanation, Session& session, const json::Value& job) {
  const std::string message = text_of(job, "message");
  if (!message.empty()) explanation.set("message", json::Value::text(message));
  Failure failure(session, job);
  if (!failure.is_known()) return;
  explanation.set("cause", json::Value::text(failure.cause()));
  json::Value::List lines;
  for (std::string& line : failure.last_lines()) {
    lines.push_back(json::Value::text(std::move(line)));
  }
  explanation.set("first_failure", *job.find("first_failure"));
  explanation.set("last_lines", json::Value::list(std::move(lines)));
}

Result<json::Value> explain_one(Session& session, const std::string& job) {
  json::Value explanation = TRY(session.get(job_target(job, "/explain")));
  if (!list_at(explanation, "waits").empty()) return explanation;
  const json::Value document = TRY(session.get(job_target(job)));
  if (has_ended(document)) add_end(explanation, session, document);
  return explanation;
}

}  // namespace

int list_jobs(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  for (;;) {
    if (arguments.watch && stdout_is_terminal()) put("\x1b[H\x1b[2J");
    const int code =
        arguments.jobs.empty() ? print_jobs(arguments, session) : print_tasks(arguments, session);
    if (!arguments.watch || code != 0) return code;
    home::pause(Duration::seconds(1));
  }
}

int explain(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  json::Value::List all;
  std::string text;
  for (const std::string& job : arguments.jobs) {
    if (is_document(arguments.output)) {
      Result<json::Value> told = explain_one(session, job);
      if (!told.ok()) return fail(told.error());
      all.push_back(*std::move(told));
      continue;
    }
    const Result<std::string> told = explain_text(session, job);
    if (!told.ok()) return fail(told.error());
    text += *told;
  }
  put(is_document(arguments.output) ? document_of_all(std::move(all), arguments.output) : text);
  return 0;
}

}  // namespace runnel::cli
