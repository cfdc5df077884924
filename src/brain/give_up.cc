#include "brain/give_up.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/trials.h"

namespace runnel::brain {
namespace {

using model::Status;

bool has_failed(const Task& task) {
  return task.status == Status::kFailed || task.status == Status::kTimeout ||
         task.status == Status::kOutOfMemory;
}

std::int64_t failures(const Step& step) {
  return count_of(step.counts, Status::kFailed) + count_of(step.counts, Status::kTimeout) +
         count_of(step.counts, Status::kOutOfMemory);
}

std::string cause_of(const Task& task) {
  const std::string code = std::to_string(task.exit_code);
  return task.exit_code == 0 ? task.reason : task.reason + ", exit code " + code;
}

// The failed tasks' common cause; nothing when they differ, or a trial ended well or reported.
std::optional<std::string> common_cause(const Step& step) {
  CHECK(step.study.has_value(), "a step without a search has no trials");
  std::optional<std::string> cause;
  for (std::size_t number = 0; number < step.study->trials.size(); ++number) {
    const Trial& trial = step.study->trials[number];
    if (!trial.reports.empty()) return std::nullopt;
    if (!trial.told) continue;
    const auto task = step.tasks.find(TaskIndex(static_cast<std::int64_t>(number)));
    if (task == step.tasks.end() || !has_failed(task->second)) return std::nullopt;
    if (cause && *cause != cause_of(task->second)) return std::nullopt;
    cause = cause_of(task->second);
  }
  return cause;
}

// The reason and the sentence, when the search is to be given up.
std::optional<std::pair<std::string, std::string>> why_give_up(const Step& step,
                                                               const model::SearchSpec& search) {
  const std::int64_t failed = failures(step);
  if (failed <= search.max_failures.value_or(kAlikeFailures - 1)) return std::nullopt;
  const std::optional<std::string> cause = common_cause(step);  // A walk over all trials.
  if (search.max_failures) {
    return std::pair("TooManyFailures", std::to_string(failed) +
                                            " trials failed, more than max_failures: " +
                                            std::to_string(*search.max_failures) +
                                            (cause ? ", all alike (" + *cause + ")" : ""));
  }
  if (!cause) return std::nullopt;
  return std::pair("AllFailAlike", "the first " + std::to_string(failed) +
                                       " trials all failed alike (" + *cause +
                                       "); search.max_failures allows more");
}

std::vector<std::pair<std::int64_t, std::int64_t>> not_running(const Step& step) {
  IntervalSet found;
  if (const auto fresh = step.plain.find(Status::kQueued); fresh != step.plain.end()) {
    found = fresh->second;
  }
  for (const auto& [index, task] : step.tasks) {
    const bool waits = task.status == Status::kQueued || task.status == Status::kRecovering;
    if (waits && !task.live) found.insert(index.value());
  }
  return found.ranges();
}

}  // namespace

void give_up_search(Turn& turn, const StepKey& key) {
  const Step& step = step_of(turn.state(), key.job, key.step);
  const bool over = !step.study || model::is_end(step.status) || !step.study->stopped.empty();
  if (over || turn.state().jobs.at(key.job).halted || failures(step) == 0) return;
  auto why = why_give_up(step, *spec_of(turn.state(), key.job, key.step).search);
  if (!why) return;
  auto skipped = not_running(step);
  // Where all trials have been asked for anyway, their ends say enough.
  if (skipped.empty() && !spec_of(turn.state(), key.job, key.step).search->max_failures) return;
  turn.emit(model::SearchStopped{key.job, key.step, why->first, why->second});
  if (skipped.empty()) return;
  turn.emit(
      model::TasksChanged{key.job, key.step, skipped, Status::kSkipped, why->first, "search"});
  turn.want_plan();  // No room is kept for them any more.
  for (const auto& [begin, end] : skipped) {
    const auto asked = static_cast<std::int64_t>(step.study->trials.size());
    for (std::int64_t index = begin; index < std::min(end, asked); ++index) {
      tell_trial(turn, {key.job, key.step, TaskIndex(index)});
    }
  }
}

}  // namespace runnel::brain
