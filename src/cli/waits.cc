#include "cli/waits.h"

#include <utility>

#include "cli/print.h"
#include "cli/wait_line.h"

namespace runnel::cli {

namespace {

bool is_of_the_home(const std::string& reason) {
  return reason == "DiskFull" || reason == "DiskSilent" || reason == "RunnerSilent";
}

}  // namespace

std::vector<std::string> Waits::news(const json::Value& explanation, Job job) {
  std::vector<std::string> lines;
  const std::set<std::string> seen = std::exchange(seen_, {});
  const json::Value* waits = explanation.find("waits");
  if (waits == nullptr || !waits->is_list()) return lines;
  for (const json::Value& wait : waits->as_list()) {
    const std::string reason = text_of(wait, "reason");
    if (reason == "Dependency" || reason == "Running") continue;
    if (job == Job::kRuns && !is_of_the_home(reason)) continue;
    const std::string key = text_of(wait, "step") + " " + reason;
    seen_.insert(key);
    if (seen.contains(key) && told_.insert(key).second) lines.push_back(wait_line(wait));
  }
  return lines;
}

}  // namespace runnel::cli
