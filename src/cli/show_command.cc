#include <algorithm>
#include <string>
#include <string_view>

#include "cli/best_text.h"
#include "cli/commands.h"
#include "cli/cost_text.h"
#include "cli/devices_text.h"
#include "cli/failure.h"
#include "cli/job_end.h"
#include "cli/job_state.h"
#include "cli/members_text.h"
#include "cli/moment_text.h"
#include "cli/pages.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/target.h"
#include "cli/warnings.h"
#include "env/clock.h"
#include "http/message.h"

namespace runnel::cli {
namespace {

constexpr std::size_t kLabel = 12;  // Columns before what a line tells.

void add_line(std::string& text, const json::Value& job, const std::string& label,
              std::string_view key) {
  const std::string value = text_of(job, key);
  if (value.empty()) return;
  text += paragraph(label + std::string(kLabel - label.size(), ' ') + value, kLabel) + "\n";
}

void add_moment(std::string& text, const json::Value& job, const std::string& label,
                std::string_view key) {
  const std::string value = text_of(job, key);
  if (!value.empty())
    text += label + std::string(kLabel - label.size(), ' ') + moment_text(value) + "\n";
}

std::string counts_of(const json::Value& step) {
  const json::Value* counts = step.find("counts");
  std::string text;
  if (counts == nullptr || !counts->is_object()) return text;
  for (const auto& [status, count] : counts->as_object()) {
    text += (text.empty() ? "" : " ") + status + "=" + count.dump();
  }
  return text;
}

// With the last lines of what the task wrote, as `run` ends with them.
void add_failure(std::string& text, Session& session, const json::Value& job) {
  Failure failure(session, job);
  if (!failure.is_known()) return;
  text += paragraph("failure     " + failure.cause(), kLabel) + "\n";
  text += "output      " + failure.logs_command() + "\n";
  for (const std::string& line : failure.output_block()) text += paragraph(line) + "\n";
}

// The command of its only step: several steps have a line of their own each, below.
void add_command(std::string& text, const json::Value& job) {
  const json::Value::List& steps = list_at(job, "steps");
  if (steps.size() == 1) add_line(text, steps.front(), "command", "command");
}

// What was left for others, and where everything else of the job is: outputs of its tasks, logs.
void add_outputs(std::string& text, const home::Home& home, const std::string& job) {
  const std::string folder = home.job_folder(job);
  if (!is_there_soon(folder)) return;
  const std::string shared = shared_outputs(home, job);
  if (!shared.empty()) text += paragraph("outputs     " + shared, kLabel) + "\n";
  text += paragraph("folder      " + folder, kLabel) + "\n";
}

// "train runs: torchrun train.py ..."
void add_commands(std::string& text, const json::Value::List& steps) {
  if (steps.size() == 1) return;
  for (const json::Value& step : steps) {
    const std::string command = text_of(step, "command");
    if (!command.empty()) text += paragraph(text_of(step, "name") + " runs: " + command) + "\n";
  }
}

// "published   out: results@0123456789abcdef"
void add_published(std::string& text, const json::Value::List& steps) {
  for (const json::Value& step : steps) {
    for (const json::Value& each : list_at(step, "published")) {
      text += paragraph("published   " + text_of(each, "name") + ": " + text_of(each, "volume") +
                            "@" + text_of(each, "version"),
                        kLabel) +
              "\n";
    }
  }
}

std::string job_text(Session& session, const json::Value& job) {
  std::string text;
  add_line(text, job, "job", "id");
  add_line(text, job, "name", "name");
  add_line(text, job, "status", "status");
  add_line(text, job, "reason", "reason");
  add_line(text, job, "message", "message");
  add_failure(text, session, job);
  add_line(text, job, "owner", "owner");
  add_moment(text, job, "submitted", "submitted_at");
  add_moment(text, job, "started", "started_at");
  add_moment(text, job, "ended", "ended_at");
  const std::string elapsed = elapsed_text(job);
  if (!elapsed.empty()) text += "elapsed     " + elapsed + "\n";
  add_command(text, job);
  add_line(text, job, "workdir", "workdir");
  add_outputs(text, session.home(), text_of(job, "id"));
  const std::string cost = cost_text(job, env::real_clock().wall());
  if (!cost.empty()) text += "cost        " + cost + "\n";
  add_published(text, list_at(job, "steps"));
  const json::Value* code = job.find("exit_code");
  if (code != nullptr) text += "exit code   " + code->dump() + "\n";
  const json::Value* steps = job.find("steps");
  if (steps == nullptr || !steps->is_list()) return text;
  Table table({"STEP", "STATUS", "TASKS", "DONE", "ETA", "COUNTS"});
  for (const json::Value& step : steps->as_list()) {
    const std::string name = text_of(step, "name");
    const std::string left = has_ended(job) ? "" : left_text(job, name);
    table.add({name, text_of(step, "status"), std::to_string(number_of(step, "tasks")),
               or_dash(share_text(job, name)), or_dash(left), counts_of(step)});
  }
  text += "\n" + table_text(table);
  add_commands(text, steps->as_list());
  for (const json::Value& step : steps->as_list()) {
    for (const std::string& line : live_lines(job, text_of(step, "name"))) text += line + "\n";
  }
  for (const json::Value& step : steps->as_list()) {
    const std::string best = best_line(step);
    if (!best.empty()) text += paragraph(best) + "\n";
  }
  for (const std::string& line : Warnings().news(job)) text += "warning     " + line + "\n";
  return text;
}

// "lr=0.1 layers=3"; of a list of values alone, the value.
std::string task_params_text(const json::Value& task) {
  const json::Value* const params = task.find("params");
  const json::Value* const item = params == nullptr ? nullptr : params->find("item");
  const bool is_alone = item != nullptr && params->as_object().size() == 1;
  return or_dash(is_alone ? printable(scalar_text(*item)) : members_text(params));
}

// "2: loss=0.31": what a trial told its search last.
std::string task_report_text(const json::Value& task) {
  const json::Value* const report = task.find("report");
  if (report == nullptr) return "-";
  return std::to_string(number_of(*report, "step")) + ": " + members_text(report->find("values"));
}

bool any_has(const json::Value::List& tasks, std::string_view member) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const json::Value& task) { return task.find(member) != nullptr; });
}

std::string tasks_text(const json::Value& page) {
  const json::Value::List& tasks = list_at(page, "tasks");
  const bool devices = any_has_devices(tasks);
  const bool params = any_has(tasks, "params");
  const bool reports = any_has(tasks, "report");
  std::vector<std::string> header = {"STEP", "TASK", "STATUS", "ATTEMPTS", "EXIT", "REASON"};
  if (params) header.emplace_back("PARAMS");
  if (reports) header.emplace_back("REPORTED");
  if (devices) header.emplace_back("DEVICES");
  Table table(header);
  for (const json::Value& task : tasks) {
    const json::Value* code = task.find("exit_code");
    std::vector<std::string> row = {text_of(task, "step"),
                                    std::to_string(number_of(task, "index")),
                                    text_of(task, "status"),
                                    std::to_string(number_of(task, "attempts")),
                                    code == nullptr ? "-" : code->dump(),
                                    text_of(task, "reason", "-")};
    if (params) row.push_back(task_params_text(task));
    if (reports) row.push_back(task_report_text(task));
    if (devices) row.push_back(placed_devices_text(task));
    table.add(std::move(row));
  }
  return table_text(table);
}

// "train/3"
std::string task_name(const json::Value& task) {
  return text_of(task, "step") + "/" + std::to_string(number_of(task, "index"));
}

// The ids of what is shown, a line each: the job, or its tasks.
std::string names_text(const json::Value& value) {
  if (const json::Value* task = value.find("task")) return task_name(*task) + "\n";
  const json::Value* tasks = value.find("tasks");
  if (tasks == nullptr || !tasks->is_list()) return text_of(value, "id") + "\n";
  std::string text;
  for (const json::Value& task : tasks->as_list()) text += task_name(task) + "\n";
  return text;
}

bool wants_list(const Arguments& arguments) {
  return !arguments.task.has_value() && (arguments.tasks || arguments.step.has_value());
}

std::string target_of(const Arguments& arguments, const std::string& job) {
  if (arguments.task.has_value()) {
    const std::string step = http::percent_encode(arguments.step.value_or("0"));
    return job_target(job, "/tasks/" + step + "/" + std::to_string(*arguments.task));
  }
  if (arguments.spec) return job_target(job, "?include=spec");
  if (!wants_list(arguments)) return job_target(job, "?include=progress");
  std::string target = job_target(job, "/tasks");
  if (!arguments.step.has_value()) return target;
  return with_query(std::move(target), "step", *arguments.step);
}

std::string human_text(Session& session, const Arguments& arguments, const json::Value& value) {
  if (arguments.spec) return printable_lines(document(value, Output::kYaml));
  if (arguments.output == Output::kName) return names_text(value);
  if (arguments.task.has_value()) return printable_lines(document(value, Output::kYaml));
  return wants_list(arguments) ? tasks_text(value) : job_text(session, value);
}

// Without what the submitter's shell added to the file. An earlier build's record has none.
Result<json::Value> spec_of(const json::Value& job) {
  const json::Value* found = job.find("spec");
  if (found == nullptr) {
    return Error(Errc::kNotFound, "the record of job " + text_of(job, "id") +
                                      " was archived by an earlier build, which kept no spec");
  }
  json::Value spec = json::Value::object();
  for (const auto& [name, value] : found->as_object()) {
    if (name != "environment") spec.set(name, value);
  }
  return spec;
}

Result<json::Value> read_shown(Session& session, const Arguments& arguments,
                               const std::string& job) {
  const std::string target = target_of(arguments, job);
  if (arguments.spec) return spec_of(TRY(session.get(target)));
  if (!wants_list(arguments)) return session.get(target);
  return read_pages(session, target, "tasks", arguments.limit);
}

}  // namespace

int show(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  json::Value::List all;
  for (const std::string& job : arguments.jobs) {
    Result<json::Value> value = read_shown(session, arguments, job);
    if (!value.ok()) return fail(value.error());
    all.push_back(*std::move(value));
  }
  if (is_document(arguments.output)) {
    put(document_of_all(std::move(all), arguments.output));
    return 0;
  }
  for (const json::Value& value : all) {
    put(human_text(session, arguments, value));
    tell_of_more(value, arguments.limit);
  }
  return 0;
}

}  // namespace runnel::cli
