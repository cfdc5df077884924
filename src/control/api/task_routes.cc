#include "control/api/task_routes.h"

#include <charconv>
#include <memory>
#include <utility>

#include "control/find_step.h"
#include "control/task_history.h"
#include "control/task_walk.h"

namespace runnel::control {
namespace {

constexpr std::int64_t kBatchesPerTurn = 200;  // Then a commit may go first.

Result<std::string> page_of(const brain::Job& job, const Lanes& lanes,
                            const TaskListQuery& wanted) {
  TaskFilter filter;
  filter.status = wanted.status;
  if (!wanted.step.empty()) filter.step = TRY(find_step(*job.spec, wanted.step));
  return task_page(job, lanes, filter, wanted.from, wanted.limit);
}

Result<TaskPlace> place_of(const brain::Job& job, const std::string& step,
                           const std::string& index) {
  const StepIndex at = TRY(find_step(*job.spec, step));
  const model::StepSpec& meant = job.spec->steps[static_cast<std::size_t>(at.value())];
  const std::int64_t count = meant.task_count;
  std::int64_t number = -1;
  const char* end = index.data() + index.size();
  auto [rest, failure] = std::from_chars(index.data(), end, number);
  if (failure == std::errc() && rest == end && number >= 0 && number < count) {
    return TaskPlace{at, TaskIndex(number)};
  }
  const bool one_of_several = job.spec->steps.size() > 1;
  return Error(Errc::kNotFound, "step '" + meant.name + "' has no task '" + index + "'")
      .with_field("task")
      .with_value(index)
      .with_hint("its tasks are 0 to " + std::to_string(count - 1) +
                 (one_of_several ? "; another step has others" : ""));
}

// One task as it is known, and where its history lies in the log.
struct TaskNow {
  std::string document;
  model::TaskRef task;
  EventSeq first;
  EventSeq last;
};

Result<TaskNow> task_now(const brain::Job& job, const Lanes& lanes, EventSeq version,
                         const std::string& step, const std::string& index) {
  const TaskPlace place = TRY(place_of(job, step, index));
  return TaskNow{task_document(job, lanes, place),
                 {job.id, place.step, place.index},
                 job.first_event,
                 version};
}

// Parsing a batch costs a hundred times what looking for these words does.
bool may_concern(const store::Batch& batch, const model::TaskRef& task) {
  if (batch.events.find(task.job.str()) == std::string::npos) return false;
  if (batch.events.find("\"lane.opened\"") != std::string::npos) return true;
  if (task.index == TaskIndex(0)) return true;  // A default, which is left out.
  const std::string index = std::to_string(task.index.value());
  return batch.events.find("\"task\":" + index) != std::string::npos ||
         batch.events.find("\"index\":" + index) != std::string::npos;
}

Result<void> fold(const store::Batch& batch, const model::TaskRef& task, TaskHistory& history) {
  if (!may_concern(batch, task)) return {};
  for (const model::Event& event : TRY(events_of(batch))) history.add(event, batch.now);
  return {};
}

// The batch before those that may tell of events from `first` on; what was pruned tells nothing.
Result<BatchSeq> before(store::LogReader& log, EventSeq first) {
  const store::Head base = TRY(log.kept()).base;
  if (first < base.next_event) return base.last;
  return BatchSeq(TRY(log.find(first)).seq.value() - 1);
}

// Folds some batches; returns the last one read, or nothing when `last` was reached.
Result<std::optional<BatchSeq>> fold_some(store::LogReader& log, BatchSeq after, EventSeq last,
                                          const model::TaskRef& task, TaskHistory& history) {
  BatchSeq at = after;
  for (const store::Batch& batch : TRY(log.read(after, kBatchesPerTurn))) {
    if (batch.first_event > last) return std::optional<BatchSeq>();
    TRY(fold(batch, task, history));
    at = batch.seq;
  }
  return at == after ? std::optional<BatchSeq>() : std::optional(at);
}

}  // namespace

std::vector<Route> TaskRoutes::table() {
  return {
      route(
          {.path = "/jobs/{id}/tasks", .summary = "List the tasks of a job", .answer = "TaskPage"},
          *this, &TaskRoutes::list),
      route({.path = "/jobs/{id}/tasks/{step}/{index}",
             .summary = "One task with its attempts",
             .answer = "TaskHistory"},
            *this, &TaskRoutes::get),
  };
}

Async<http::Reply> TaskRoutes::list(Ask ask, TaskListQuery wanted) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  co_return http::Response::json_text(CO_TRY(co_await controller_.about<std::string>(
      job, [this, &wanted](const brain::Job& known, EventSeq) {
        return page_of(known, controller_.state().lanes, wanted);
      })));
}

Async<std::string> TaskRoutes::history_of(model::TaskRef task, EventSeq first, EventSeq last) {
  // Shared: the worker folds into it while this frame is suspended.
  TaskHistory history(task);
  LogWriter& writer = controller_.writer();
  std::optional<BatchSeq> at = CO_TRY(co_await writer.read<BatchSeq>(
      [first](store::LogReader& log) { return before(log, first); }));
  while (at) {
    at = CO_TRY(co_await writer.read<std::optional<BatchSeq>>(
        [&history, &task, &at, last](store::LogReader& log) {
          return fold_some(log, *at, last, task, history);
        }));
  }
  co_return history.document();
}

Async<http::Reply> TaskRoutes::get(Ask ask, NoQuery) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  const TaskNow task = CO_TRY(co_await controller_.about<TaskNow>(
      job, [this, step = ask.request.param("step"), index = ask.request.param("index")](
               const brain::Job& known, EventSeq version) {
        return task_now(known, controller_.state().lanes, version, step, index);
      }));
  std::string text = CO_TRY(co_await history_of(task.task, task.first, task.last));
  text.pop_back();  // Its closing brace: the task comes after "attempts" and "dropped".
  text += ",\"task\":" + task.document + "}";
  co_return http::Response::json_text(std::move(text));
}

}  // namespace runnel::control
