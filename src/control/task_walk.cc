#include "control/task_walk.h"

#include <charconv>
#include <map>

#include "control/device_document.h"
#include "control/exit_code.h"
#include "control/job_document.h"
#include "json/writer.h"
#include "search/sampling.h"
#include "search/space.h"

namespace runnel::control {
namespace {

using model::Status;

template <typename Int>
bool parse_whole(std::string_view text, Int& value) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  auto [rest, failure] = std::from_chars(begin, end, value);
  return failure == std::errc() && rest == end && value >= 0;
}

const brain::Step& step_at(const brain::Job& job, StepIndex step) {
  return job.steps.at(static_cast<std::size_t>(step.value()));
}

const model::StepSpec& spec_at(const brain::Job& job, StepIndex step) {
  return job.spec->steps.at(static_cast<std::size_t>(step.value()));
}

// By name. A trial that was not asked for has none yet.
std::map<std::string, std::string> params_of(const brain::Job& job, const model::StepSpec& spec,
                                             const TaskPlace& place) {
  const std::optional<brain::Study>& study = step_at(job, place.step).study;
  search::Texts params;
  if (!study) {
    params = search::draw(spec, job.spec->seed, place.step, place.index);
  } else if (place.index.value() < static_cast<std::int64_t>(study->trials.size())) {
    params = study->trials[static_cast<std::size_t>(place.index.value())].params;
  }
  return {std::make_move_iterator(params.begin()), std::make_move_iterator(params.end())};
}

void write_params(json::Writer& out, const brain::Job& job, const TaskPlace& place) {
  const model::StepSpec& spec = spec_at(job, place.step);
  if (spec.params.empty()) return;
  const std::map<std::string, std::string> sorted = params_of(job, spec, place);
  out.key("params").begin_object();
  for (const auto& [name, value] : sorted) out.field(name, value);
  out.end_object();
}

// What a trial told last, as far as its search used it.
void write_report(json::Writer& out, const brain::Job& job, const TaskPlace& place) {
  const std::optional<brain::Study>& study = step_at(job, place.step).study;
  const auto index = static_cast<std::size_t>(place.index.value());
  if (!study || index >= study->trials.size() || study->trials[index].own_reports().empty()) return;
  const brain::TrialReport& report = study->trials[index].own_reports().back();
  out.key("report").begin_object().field("step", report.at);
  write_values(out, *spec_at(job, place.step).search, report);
  out.end_object();
}

// Tasks that nothing was remembered of: they succeeded at the first attempt, or had none.
brain::Task plain_task(Status status) {
  brain::Task task;
  task.status = status;
  task.attempts = AttemptNumber(status == Status::kSucceeded ? 1 : 0);
  return task;
}

brain::Task task_at(const brain::Step& step, TaskIndex index) {
  auto kept = step.tasks.find(index);
  return kept != step.tasks.end() ? kept->second : plain_task(brain::status_of(step, index));
}

void write_task(json::Writer& out, const brain::Job& job, const Lanes& lanes,
                const TaskPlace& place) {
  const brain::Task task = task_at(step_at(job, place.step), place.index);
  CHECK(place.index.value() < spec_at(job, place.step).task_count, "no such task in its step");
  const bool attempted = task.attempts.value() > 0;
  out.begin_object();
  out.field("attempts", task.attempts.value());
  if (task.live) write_devices(out, lanes.at(task.live->lane).places());
  if (model::is_end(task.status) && attempted) {
    out.field("exit_code", exit_code_of(task.status, task.exit_code));
  }
  out.field("index", place.index.value());
  if (task.live) out.field("lane", task.live->lane.value());
  if (task.not_before != Time()) out.field("not_before", rfc3339(task.not_before));
  write_params(out, job, place);
  if (!task.reason.empty()) out.field("reason", task.reason);
  write_report(out, job, place);
  if (task.live && task.live->started_at != Time()) {
    out.field("started_at", rfc3339(task.live->started_at));
  }
  out.field("status", model::to_string(task.status));
  out.field("step", spec_at(job, place.step).name);
  if (task.live && task.live->stopping) {
    out.field("stopping", model::to_string(*task.live->stopping));
  }
  out.end_object();
}

}  // namespace

std::string TaskPlace::token() const {
  return std::to_string(step.value()) + "." + std::to_string(index.value());
}

Result<TaskPlace> TaskPlace::parse(std::string_view token) {
  const std::size_t dot = token.find('.');
  std::int32_t step = 0;
  std::int64_t index = 0;
  if (dot == std::string_view::npos || !parse_whole(token.substr(0, dot), step) ||
      !parse_whole(token.substr(dot + 1), index)) {
    return Error(Errc::kInvalid, "this is not a page token")
        .with_field("page_token")
        .with_value(std::string(token))
        .with_hint("pass next_page_token of the page before, or none");
  }
  return TaskPlace{StepIndex(step), TaskIndex(index)};
}

TaskWalk::TaskWalk(const brain::Job& job, TaskFilter filter, TaskPlace from)
    : job_(job), filter_(filter), at_(from) {
  CHECK(job.spec != nullptr, "a job without a specification");
  if (filter_.step && at_.step < *filter_.step) at_ = TaskPlace{*filter_.step, TaskIndex(0)};
}

std::int64_t TaskWalk::step_count() const {
  if (filter_.step)
    return std::min<std::int64_t>(filter_.step->value() + 1, std::ssize(job_.steps));
  return std::ssize(job_.steps);
}

std::optional<TaskPlace> TaskWalk::next() {
  while (at_.step.value() < step_count()) {
    const std::optional<TaskIndex> found = next_in_step();
    if (found) {
      CHECK(*found >= at_.index, "a walk over tasks went back");
      const TaskPlace place{at_.step, *found};
      at_.index = TaskIndex(found->value() + 1);
      return place;
    }
    if (paused_) return std::nullopt;
    at_ = TaskPlace{StepIndex(at_.step.value() + 1), TaskIndex(0)};
  }
  return std::nullopt;
}

std::optional<TaskPlace> TaskWalk::place() const {
  TaskPlace place = at_;
  const auto past = [&] { return place.index.value() >= spec_at(job_, place.step).task_count; };
  while (place.step.value() < step_count() && past()) {
    place = TaskPlace{StepIndex(place.step.value() + 1), TaskIndex(0)};
  }
  return place.step.value() < step_count() ? std::optional(place) : std::nullopt;
}

std::optional<TaskIndex> TaskWalk::next_in_step() {
  const brain::Step& step = step_at(job_, at_.step);
  if (at_.index.value() >= spec_at(job_, at_.step).task_count) return std::nullopt;
  if (!filter_.status) return at_.index;
  const std::optional<TaskIndex> plain = next_plain(step, *filter_.status);
  const auto kept = next_kept(step, *filter_.status);
  if (kept == step.tasks.end()) return plain;
  if (plain && *plain < kept->first) return plain;
  if (kept->second.status == *filter_.status) return kept->first;
  paused_ = true;
  at_.index = kept->first;
  return std::nullopt;
}

std::optional<TaskIndex> TaskWalk::next_plain(const brain::Step& step, Status status) const {
  auto set = step.plain.find(status);
  if (set == step.plain.end()) return std::nullopt;
  const std::optional<std::int64_t> found = set->second.first_from(at_.index.value());
  return found ? std::optional(TaskIndex(*found)) : std::nullopt;
}

// The next kept task that matches, or the one at which the walk has looked at enough of them.
TaskWalk::KeptTask TaskWalk::next_kept(const brain::Step& step, Status status) {
  auto task = step.tasks.lower_bound(at_.index);
  for (; task != step.tasks.end() && looked_at_ < kLookedAtMax; ++task, ++looked_at_) {
    if (task->second.status == status) break;
  }
  return task;
}

std::string task_page(const brain::Job& job, const Lanes& lanes, const TaskFilter& filter,
                      const TaskPlace& from, std::int64_t limit) {
  CHECK(limit > 0, "a page has room for at least one entry");
  TaskWalk walk(job, filter, from);
  std::string items;
  json::Writer list(items);
  list.begin_list();
  std::int64_t count = 0;
  for (; count < limit; ++count) {
    const std::optional<TaskPlace> place = walk.next();
    if (!place) break;
    write_task(list, job, lanes, *place);
  }
  list.end_list();
  std::string text;
  json::Writer out(text);
  out.begin_object();
  if (auto next = walk.place(); next) out.field("next_page_token", next->token());
  out.key("tasks").raw(items).end_object();
  return text;
}

std::string task_document(const brain::Job& job, const Lanes& lanes, const TaskPlace& place) {
  std::string text;
  json::Writer out(text);
  write_task(out, job, lanes, place);
  return text;
}

}  // namespace runnel::control
