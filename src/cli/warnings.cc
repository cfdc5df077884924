#include "cli/warnings.h"

#include <algorithm>

#include "cli/print.h"

namespace runnel::cli {
namespace {

std::string what_follows(const std::string& action) {
  if (action == "restart") return "; it is ended, to be tried again";
  return action == "kill" ? "; it is ended" : "";
}

// "train/0#1: RankSlow: rank 1 of 3 takes 3 s for a step, ..."
std::string line_of(const std::string& step, const json::Value& warning) {
  return step + "/" + std::to_string(number_of(warning, "task")) + "#" +
         std::to_string(number_of(warning, "attempt", 1)) + ": " + text_of(warning, "reason") +
         ": " + text_of(warning, "message") + what_follows(text_of(warning, "action"));
}

}  // namespace

std::vector<std::string> Warnings::news(const json::Value& job) {
  std::vector<std::string> lines;
  const json::Value* steps = job.find("steps");
  if (steps == nullptr || !steps->is_list()) return lines;
  for (const json::Value& step : steps->as_list()) {
    const json::Value* warnings = step.find("warnings");
    if (warnings == nullptr || !warnings->is_list()) continue;
    const std::string name = text_of(step, "name");
    const std::int64_t count = number_of(step, "warned");
    const auto held = static_cast<std::int64_t>(warnings->as_list().size());
    const std::int64_t fresh = std::clamp<std::int64_t>(count - told_[name], 0, held);
    told_[name] = count;
    for (std::int64_t at = held - fresh; at < held; ++at) {
      lines.push_back(line_of(name, warnings->as_list()[static_cast<std::size_t>(at)]));
    }
  }
  return lines;
}

}  // namespace runnel::cli
