#include "control/progress_document.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "control/progress.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/status.h"
#include "search/decimal.h"

namespace runnel::control {
namespace {

constexpr std::string_view kProgressMetric = "progress";

Duration since(Time begin, Time now) {
  return begin == Time() || now < begin ? Duration() : now - begin;
}

bool is_running(const brain::Task& task) {
  return task.live && task.live->status == model::Status::kRunning;
}

// The last step of a whole trial; 0 where nobody said.
std::int64_t goal_of(const model::StepSpec& spec) {
  if (!spec.search) return 0;
  if (spec.search->pruner && spec.search->pruner->max_step > 0)
    return spec.search->pruner->max_step;
  return spec.search->population ? spec.search->population->max_step : 0;
}

// What a task told of its share, over all its attempts.
struct Course {
  std::optional<double> furthest;  // One that resumes repeats some of it.
  double last = 0;
  double begun = 0;           // The first word after the last restart.
  std::int64_t restarts = 0;  // Words that were not further than the one before.

  void add(double share) {
    if (furthest && share <= last) {
      begun = share;
      ++restarts;
    }
    last = share;
    furthest = std::max(furthest.value_or(share), share);
  }
};

Course course_of(const model::MetricSeries& series) {
  Course course;
  for (const model::MetricSample& sample : series.samples) {
    for (const auto& [name, value] : sample.values) {
      if (name != kProgressMetric) continue;
      const auto share = search::parsed<double>(value);
      if (share && std::isfinite(*share)) course.add(*share);
    }
  }
  return course;
}

// Where the live attempt began, if each attempt's beginning is seen and this one is ahead of all.
std::optional<double> begun_at(const Course& course, AttemptNumber attempt) {
  if (attempt.value() <= 1) return 0;
  const bool all_seen = course.restarts == attempt.value() - 1;
  if (!all_seen || course.last < course.furthest.value_or(0)) return std::nullopt;
  return course.begun;
}

// By the reports that were judged: they stay when a trial is paused.
double told_by(const brain::Trial& trial, std::int64_t goal) {
  if (goal == 0 || trial.reports.empty()) return 0;
  const auto at = static_cast<double>(trial.reports.back().at);
  return std::clamp(at / static_cast<double>(goal), 0.0, 1.0);
}

double paused_shares(const brain::Step& step, std::int64_t goal) {
  double sum = 0;
  if (!step.study || goal == 0) return sum;
  for (const auto& [index, task] : step.tasks) {
    const auto at = static_cast<std::size_t>(index.value());
    const bool rests = !model::is_end(task.status) && !is_running(task);
    if (rests && at < step.study->trials.size()) sum += told_by(step.study->trials[at], goal);
  }
  return sum;
}

TaskProgress live_progress(const brain::Step& step, TaskIndex task, const brain::LiveAttempt& live,
                           std::int64_t goal, const model::MetricSeries* series, Time now) {
  TaskProgress progress;
  progress.running = since(live.started_at, now);
  if (live.number.value() > 1) progress.begun_at.reset();
  if (step.study) {
    const double told =
        told_by(step.study->trials.at(static_cast<std::size_t>(task.value())), goal);
    if (told > 0) progress.told = told;
  } else if (series != nullptr) {
    const Course course = course_of(*series);
    progress.told = course.furthest;
    progress.begun_at = begun_at(course, live.number);
    progress.told_ago = since(series->reported_at, now);
  }
  return progress;
}

StepWork work_of(const brain::Step& step, StepIndex index, const model::StepSpec& spec,
                 const LiveMetrics& metrics, Time now) {
  CHECK(now != Time(), "progress at no moment");
  StepWork work;
  work.tasks = spec.task_count;
  for (std::size_t slot = 0; slot < step.counts.size(); ++slot) {
    const auto status = static_cast<model::Status>(slot);
    if (!model::is_end(status)) continue;
    work.ended += step.counts[slot];
    const bool whole = status == model::Status::kSucceeded || status == model::Status::kPruned;
    if (!whole) work.failed += step.counts[slot];
  }
  work.running = since(step.started_at, now);
  const std::int64_t goal = goal_of(spec);
  work.paused = paused_shares(step, goal);
  for (const auto& [task, kept] : step.tasks) {
    if (!is_running(kept)) continue;
    const auto told = metrics.find({index, task});
    work.live.push_back(live_progress(step, task, *kept.live, goal,
                                      told == metrics.end() ? nullptr : &told->second, now));
  }
  if (step.study) work.resting = step.study->parked;
  return work;
}

std::string share_text(double share) {
  return search::shortest(std::round(share * 10'000) / 10'000);
}

void write_left(json::Writer& out, const std::optional<Duration>& left) {
  if (left) out.key("eta_seconds").raw(std::to_string((left->millis() + 500) / 1000));
}

// The last value of each metric, whichever line it came in.
void write_latest(json::Writer& out, const model::MetricSeries& series) {
  std::map<std::string, std::string> latest;
  for (const model::MetricSample& sample : series.samples) {
    for (const auto& [name, value] : sample.values) latest[name] = value;
  }
  out.key("metrics").begin_object();
  for (const auto& [name, value] : latest) {
    json::is_number(value) ? out.key(name).raw(value) : out.field(name, value);
  }
  out.end_object();
  out.field("step", series.samples.back().step);
}

void write_live(json::Writer& out, StepIndex step, const LiveMetrics& metrics) {
  out.key("live").begin_list();
  for (const auto& [place, series] : metrics) {
    if (place.first != step || series.samples.empty()) continue;
    out.begin_object();
    write_latest(out, series);
    out.field("task", place.second.value()).end_object();
  }
  out.end_list();
}

}  // namespace

std::vector<std::pair<StepIndex, TaskIndex>> live_tasks(const brain::Job& job) {
  std::vector<std::pair<StepIndex, TaskIndex>> found;
  for (std::size_t at = 0; at < job.steps.size(); ++at) {
    for (const auto& [task, kept] : job.steps[at].tasks) {
      if (found.size() == kLiveShownMax) return found;
      if (!is_running(kept)) continue;
      found.emplace_back(StepIndex(static_cast<std::int32_t>(at)), task);
    }
  }
  return found;
}

std::string progress_document(const brain::Job& job, const LiveMetrics& metrics, Time now) {
  CHECK(job.steps.size() == job.spec->steps.size(), "a job with other steps than it was given");
  CHECK(!job.steps.empty(), "a job without steps has no progress");
  std::string steps;
  json::Writer out(steps);
  double done = 0;
  std::optional<Duration> left = Duration();
  out.begin_list();
  for (std::size_t at = 0; at < job.steps.size(); ++at) {
    const StepIndex index(static_cast<std::int32_t>(at));
    const brain::Step& step = job.steps[at];
    const model::StepSpec& spec = job.spec->steps[at];
    StepProgress progress = progress_of(work_of(step, index, spec, metrics, now));
    if (model::is_end(step.status)) progress = {1, Duration()};
    done += progress.done / static_cast<double>(job.steps.size());
    left = left && progress.left ? std::optional(std::max(*left, *progress.left)) : std::nullopt;
    out.begin_object();
    write_left(out, progress.left);
    write_live(out, index, metrics);
    out.field("name", spec.name);
    out.key("share").raw(share_text(progress.done));
    out.end_object();
  }
  out.end_list();
  std::string text;
  json::Writer document(text);
  document.begin_object();
  write_left(document, left);
  document.key("share").raw(share_text(done));
  document.key("steps").raw(steps).end_object();
  return text;
}

}  // namespace runnel::control
