#include "brain/population.h"

#include <utility>

#include "base/check.h"
#include "brain/wish.h"

namespace runnel::brain {
namespace {

using model::Status;

// Parked, and its attempt has ended: it could run.
bool rests(const Step& step, std::size_t member) {
  if (!step.study->trials[member].parked) return false;
  const auto task = step.tasks.find(TaskIndex(static_cast<std::int64_t>(member)));
  return task == step.tasks.end() || !task->second.live;
}

std::int64_t reached(const Trial& trial) {
  const auto reports = trial.own_reports();
  if (!reports.empty()) return reports.back().at;
  return trial.moves.empty() ? -1 : trial.moves.back().at;
}

bool anybody_waits(const Turn& turn, const StepKey& key) {
  if (waiting_tasks(turn.state(), turn.index(), key, turn.now()) > 0) return true;
  const Step& step = step_of(turn.state(), key.job, key.step);
  for (std::size_t member = 0; member < step.study->trials.size(); ++member) {
    if (rests(step, member)) return true;
  }
  return false;
}

}  // namespace

void steer_member(Turn& turn, const StepKey& key, const model::AttemptRef& attempt) {
  const bool moves = turn.searcher(key).move(attempt.task.index.value()).has_value();
  if (!moves && !anybody_waits(turn, key)) return;
  const Task& task = *find_task(turn.state(), attempt.task);
  CHECK(task.live.has_value(), "a member is steered that does not run");
  const LaneId lane = task.live->lane;
  turn.emit(model::TrialParked{key.job, key.step, attempt.task.index});
  turn.emit(model::AttemptStopping{attempt, lane, Status::kPaused, "search"});
}

void move_member(Turn& turn, const model::TaskRef& task) {
  const StepKey key{task.job, task.step};
  const Step& step = step_of(turn.state(), key.job, key.step);
  const auto& spec = spec_of(turn.state(), key.job, key.step);
  if (!spec.search || !spec.search->population) return;
  const Trial& trial = step.study->trials.at(static_cast<std::size_t>(task.index.value()));
  if (!trial.parked) return;
  auto move = turn.searcher(key).move(task.index.value());
  // Nothing is left to train of one that has ended since.
  if (!move || step.study->trials.at(static_cast<std::size_t>(move->donor)).told) return;
  turn.emit(model::TrialMoved{key.job, key.step, task.index, TaskIndex(move->donor), reached(trial),
                              std::move(move->params)});
}

std::optional<std::int64_t> next_member(const Turn& turn, const StepKey& key) {
  if (waiting_tasks(turn.state(), turn.index(), key, turn.now()) > 0) return std::nullopt;
  const Step& step = step_of(turn.state(), key.job, key.step);
  const std::vector<Trial>& trials = step.study->trials;
  std::optional<std::int64_t> next;
  for (std::size_t member = 0; member < trials.size(); ++member) {
    if (!rests(step, member)) continue;
    const bool behind =
        !next || reached(trials[member]) < reached(trials[static_cast<std::size_t>(*next)]);
    if (behind) next = static_cast<std::int64_t>(member);
  }
  return next;
}

}  // namespace runnel::brain
