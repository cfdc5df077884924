#include "brain/bind.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/suspects.h"
#include "brain/trials.h"

namespace runnel::brain {
namespace {

using model::Status;

std::vector<TaskIndex> next_tasks(const Turn& turn, const Lane& lane, const StepKey& key,
                                  std::int64_t count) {
  std::vector<TaskIndex> found;
  if (lane.apart != 0) {
    const auto task = next_suspect(turn.state(), turn.index(), key, lane.apart, turn.now());
    if (task) found.push_back(*task);
    return found;
  }
  auto again = turn.index().again.find(key);
  if (again != turn.index().again.end()) {
    for (const auto& [not_before, index] : again->second) {
      if (not_before > turn.now() || static_cast<std::int64_t>(found.size()) == count) break;
      found.push_back(index);
    }
  }
  const Step& step = step_of(turn.state(), key.job, key.step);
  auto fresh = step.plain.find(Status::kQueued);
  if (fresh == step.plain.end()) return found;
  std::optional<std::int64_t> next = fresh->second.first();
  while (next.has_value() && static_cast<std::int64_t>(found.size()) < count) {
    found.emplace_back(*next);
    next = fresh->second.first_from(*next + 1);
  }
  return found;
}

}  // namespace

void bind(Turn& turn, LaneId lane, const StepKey& key, std::int64_t count) {
  const std::vector<TaskIndex> tasks = next_tasks(turn, turn.state().lanes.at(lane), key, count);
  CHECK(!tasks.empty(), "a lane is extended although nothing waits");
  model::LaneExtended event{lane, key.job, key.step, {}};
  for (TaskIndex index : tasks) {
    const Task* kept = find_task(turn.state(), {key.job, key.step, index});
    const std::int32_t attempts = kept == nullptr ? 0 : kept->attempts.value();
    event.tasks.push_back({index, AttemptNumber(attempts + 1), params_of(turn, key, index)});
  }
  turn.emit(std::move(event));
  turn.touch_step(key.job, key.step);
}

}  // namespace runnel::brain
