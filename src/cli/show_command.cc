#include <string>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/target.h"
#include "http/message.h"

namespace runnel::cli {
namespace {

void add_line(std::string& text, const json::Value& job, const std::string& label,
              std::string_view key) {
  const std::string value = text_of(job, key);
  if (!value.empty()) text += label + std::string(12 - label.size(), ' ') + value + "\n";
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

std::string job_text(const json::Value& job) {
  std::string text;
  add_line(text, job, "job", "id");
  add_line(text, job, "name", "name");
  add_line(text, job, "status", "status");
  add_line(text, job, "reason", "reason");
  add_line(text, job, "message", "message");
  add_line(text, job, "owner", "owner");
  add_line(text, job, "submitted", "submitted_at");
  add_line(text, job, "started", "started_at");
  add_line(text, job, "ended", "ended_at");
  add_line(text, job, "workdir", "workdir");
  const json::Value* code = job.find("exit_code");
  if (code != nullptr) text += "exit code   " + code->dump() + "\n";
  const json::Value* steps = job.find("steps");
  if (steps == nullptr || !steps->is_list()) return text;
  Table table({"STEP", "STATUS", "TASKS", "COUNTS"});
  for (const json::Value& step : steps->as_list()) {
    table.add({text_of(step, "name"), text_of(step, "status"),
               std::to_string(number_of(step, "tasks")), counts_of(step)});
  }
  return text + "\n" + table.text(stdout_is_terminal());
}

std::string tasks_text(const json::Value& page) {
  Table table({"STEP", "TASK", "STATUS", "ATTEMPTS", "EXIT", "REASON"});
  const json::Value* tasks = page.find("tasks");
  if (tasks != nullptr && tasks->is_list()) {
    for (const json::Value& task : tasks->as_list()) {
      const json::Value* code = task.find("exit_code");
      table.add({text_of(task, "step"), std::to_string(number_of(task, "index")),
                 text_of(task, "status"), std::to_string(number_of(task, "attempts")),
                 code == nullptr ? "-" : code->dump(), text_of(task, "reason", "-")});
    }
  }
  std::string text = table.text(stdout_is_terminal());
  if (!text_of(page, "next_page_token").empty()) say("there are more: --limit N, up to 1000");
  return text;
}

std::string target_of(const Arguments& arguments, const std::string& job) {
  if (arguments.task.has_value()) {
    const std::string step = http::percent_encode(arguments.step.value_or("0"));
    return job_target(job, "/tasks/" + step + "/" + std::to_string(*arguments.task));
  }
  if (!arguments.tasks && !arguments.step.has_value()) return job_target(job);
  std::string target =
      with_query(job_target(job, "/tasks"), "limit", std::to_string(arguments.limit));
  if (!arguments.step.has_value()) return target;
  return with_query(std::move(target), "step", *arguments.step);
}

std::string human_text(const Arguments& arguments, const json::Value& value) {
  if (arguments.task.has_value()) return document(value, Output::kYaml);
  if (arguments.tasks || arguments.step.has_value()) return tasks_text(value);
  return job_text(value);
}

}  // namespace

int show(const Arguments& arguments, const Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  json::Value::List all;
  for (const std::string& job : arguments.jobs) {
    Result<json::Value> value = session.get(target_of(arguments, job));
    if (!value.ok()) return fail(value.error());
    all.push_back(*std::move(value));
  }
  if (is_document(arguments.output)) {
    put(document(all.size() == 1 ? all[0] : json::Value::list(all), arguments.output));
    return 0;
  }
  for (const json::Value& value : all) {
    put(arguments.output == Output::kName ? text_of(value, "id") + "\n"
                                          : human_text(arguments, value));
  }
  return 0;
}

}  // namespace runnel::cli
