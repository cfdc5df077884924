#include "agent/slow_starts.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace runnel::agent {
namespace {

// The tasks of a step that wait for the same, and the first of them.
struct Group {
  std::set<TaskIndex> tasks;
  TaskIndex first;
  Time since;
};

std::string sentence(const Group& group, const std::string& waits_for) {
  const std::string since = " since " + rfc3339(group.since);
  const std::string task = "task " + std::to_string(group.first.value());
  if (group.tasks.size() == 1) return task + " waits" + since + " for " + waits_for;
  return std::to_string(group.tasks.size()) + " tasks wait, " + task + since + ", for " + waits_for;
}

constexpr const char* kOfPreparing =
    "it begins by itself once that is there, or over; a store or disk that stays silent is given "
    "up and tried again";
constexpr const char* kOfFlushing =
    "it is done once that is there; `cancel` waits for no longer than its grace";

}  // namespace

std::vector<SlowStart> slow_starts(const std::vector<Preparer::Waiting>& waiting) {
  std::map<std::tuple<JobId, StepIndex, Preparer::Until, std::string>, Group> groups;
  for (const Preparer::Waiting& each : waiting) {
    const model::TaskRef& task = each.of.attempt.task;
    Group& group = groups[{task.job, task.step, each.until, each.waits_for}];
    if (group.tasks.empty() || each.since < group.since) {
      group.first = task.index;
      group.since = each.since;
    }
    group.tasks.insert(task.index);
  }
  std::vector<SlowStart> starts;
  for (const auto& [of, group] : groups) {
    const auto& [job, step, until, waits_for] = of;
    const bool flushes = until == Preparer::Until::kFinished;
    starts.push_back({job, step, flushes ? "Flushing" : "Preparing", sentence(group, waits_for),
                      flushes ? kOfFlushing : kOfPreparing});
  }
  return starts;
}

}  // namespace runnel::agent
