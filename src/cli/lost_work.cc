#include "cli/lost_work.h"

#include <algorithm>
#include <cstdint>

#include "cli/print.h"
#include "cli/target.h"

namespace runnel::cli {
namespace {

std::int64_t running_tasks(const json::Value& step) {
  const json::Value* counts = step.find("counts");
  if (counts == nullptr) return 0;
  return number_of(*counts, "STARTING") + number_of(*counts, "RUNNING");
}

// Trials that are asked for run at their asker, who is told to stop and keeps what it has.
bool loses_its_work(const json::Value& spec) {
  const bool runs_here = spec.find("run") != nullptr || spec.find("command") != nullptr;
  return runs_here && spec.find("checkpoint") == nullptr;
}

std::string sentence(std::int64_t tasks, const std::string& parts) {
  const bool one = tasks == 1;
  return std::to_string(tasks) + (one ? " running task has" : " running tasks have") +
         " no `checkpoint` and " + (one ? "begins" : "begin") + " anew after resume: " + parts;
}

}  // namespace

std::string lost_work(const json::Value& job) {
  const json::Value* spec = job.find("spec");
  if (spec == nullptr) return "";
  const json::Value::List& steps = list_at(job, "steps");
  const json::Value::List& specs = list_at(*spec, "steps");
  std::int64_t tasks = 0;
  std::string parts;
  for (std::size_t at = 0; at < std::min(steps.size(), specs.size()); ++at) {
    const std::int64_t running = running_tasks(steps[at]);
    if (running == 0 || !loses_its_work(specs[at])) continue;
    tasks += running;
    parts +=
        (parts.empty() ? "" : ", ") + std::to_string(running) + " of " + text_of(steps[at], "name");
  }
  return tasks == 0 ? "" : sentence(tasks, parts);
}

std::string work_lost_by_pause(Session& session, const std::string& job) {
  const Result<json::Value> document = session.get(job_target(job, "?include=spec"));
  return document.ok() ? lost_work(*document) : "";
}

}  // namespace runnel::cli
