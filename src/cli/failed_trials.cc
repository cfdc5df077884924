#include "cli/failed_trials.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "cli/pages.h"
#include "cli/print.h"
#include "cli/target.h"

namespace runnel::cli {
namespace {

bool is_failure(const std::string& status) {
  return status == "FAILED" || status == "TIMEOUT" || status == "OUT_OF_MEMORY";
}

std::int64_t failures_of(const json::Value& step) {
  const json::Value* counts = step.find("counts");
  const bool over = text_of(step, "status") == "SUCCEEDED";
  if (!over || counts == nullptr || step.find("search") == nullptr) return 0;
  return number_of(*counts, "FAILED") + number_of(*counts, "TIMEOUT") +
         number_of(*counts, "OUT_OF_MEMORY");
}

// ": NonZeroExit", or ": mostly NonZeroExit (3)".
std::string main_reason(const json::Value::List& tasks) {
  std::map<std::string, std::int64_t> reasons;
  for (const json::Value& task : tasks) {
    if (is_failure(text_of(task, "status"))) ++reasons[text_of(task, "reason", "no reason")];
  }
  if (reasons.empty()) return "";
  const auto most =
      std::max_element(reasons.begin(), reasons.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (reasons.size() == 1) return ": " + most->first;
  return ": mostly " + most->first + " (" + std::to_string(most->second) + ")";
}

}  // namespace

std::string failed_trials_line(const json::Value& step, const json::Value::List& tasks) {
  const std::int64_t failures = failures_of(step);
  if (failures == 0) return "";
  return std::to_string(failures) + " of " +
         std::to_string(number_of(*step.find("search"), "asked")) + " trials of " +
         text_of(step, "name") + " failed" + main_reason(tasks);
}

std::string failed_trials(Session& session, const std::string& job, const json::Value& step) {
  if (failures_of(step) == 0) return "";
  const std::string target =
      with_query(job_target(job, "/tasks"), "step", step.find("name")->as_text());
  const Result<json::Value> page = read_pages(session, target, "tasks", kTasksRead);
  return failed_trials_line(step, page.ok() ? list_at(*page, "tasks") : json::Value::List());
}

}  // namespace runnel::cli
