#include "control/job_document.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/check.h"
#include "control/best_so_far.h"
#include "control/best_trials.h"
#include "control/command_line.h"
#include "control/exit_code.h"
#include "control/first_failure.h"
#include "json/value.h"
#include "model/codec.h"

namespace runnel::control {
namespace {

using model::Status;

constexpr std::size_t kStatuses = model::kStatusCount;

// Statuses in the order of their words, as canonical JSON wants its keys.
const std::array<Status, kStatuses>& statuses_by_word() {
  static const std::array<Status, kStatuses> kSorted = [] {
    std::array<Status, kStatuses> all{};
    for (std::size_t slot = 0; slot < kStatuses; ++slot) all[slot] = static_cast<Status>(slot);
    std::sort(all.begin(), all.end(),
              [](Status a, Status b) { return model::to_string(a) < model::to_string(b); });
    return all;
  }();
  return kSorted;
}

void write_counts(json::Writer& out, const brain::StatusCounts& counts) {
  out.key("counts").begin_object();
  for (const Status status : statuses_by_word()) {
    const std::int64_t count = brain::count_of(counts, status);
    if (count != 0) out.field(model::to_string(status), count);
  }
  out.end_object();
}

void write_text(json::Writer& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out.field(key, text);
}

void write_money(json::Writer& out, std::string_view key, Money amount) {
  out.key(key).raw(dollars(amount));
}

// Dollars up to the last change of what the job holds, and how many an hour it holds now: what has
// been spent since then follows. Nothing when its nodes have no price.
void write_cost(json::Writer& out, const model::Cost& spent, const model::Rate& rate, Time at) {
  if (spent == model::Cost() && rate == model::Rate()) return;
  out.key("cost").begin_object();
  write_time(out, "as_of", at);
  write_money(out, "list", spent.list);
  write_money(out, "list_per_hour", rate.list);
  write_money(out, "spent", spent.paid);
  write_money(out, "spent_per_hour", rate.paid);
  out.end_object();
}

void write_job_cost(json::Writer& out, const brain::Job& job) {
  model::Rate rate;
  Time at;
  for (const brain::Step& step : job.steps) {
    rate = rate + step.rate;
    at = std::max(at, step.accrued_at);
  }
  model::Cost spent;
  for (const brain::Step& step : job.steps) spent = spent + brain::spent_by(step, at);
  write_cost(out, spent, rate, at);
}

void write_needs(json::Writer& out, const model::JobSpec& spec, const model::StepSpec& step) {
  if (step.depends_on.empty()) return;
  out.key("depends_on").begin_list();
  for (const StepIndex need : step.depends_on) {
    out.text(spec.steps.at(static_cast<std::size_t>(need.value())).name);
  }
  out.end_list();
}

void write_texts(json::Writer& out, const brain::Trial& trial) {
  out.key("params").begin_object();
  for (const auto& [name, value] : std::map(trial.params.begin(), trial.params.end())) {
    out.field(name, value);
  }
  out.end_object();
}

void write_best(json::Writer& out, const model::SearchSpec& search, const brain::Study& study) {
  const brain::Trial& best = study.trials.at(static_cast<std::size_t>(study.best));
  out.key("best").begin_object();
  write_texts(out, best);
  out.field("step", best.own_reports().back().at);
  out.field("trial", study.best);
  write_values(out, search, best.own_reports().back());
  out.end_object();
}

// With its status: it has not ended, and may yet come to another value, or was pruned and came
// furthest.
void write_best_so_far(json::Writer& out, const model::SearchSpec& search, const brain::Step& step,
                       TaskIndex index) {
  const brain::Trial& leader = step.study->trials.at(static_cast<std::size_t>(index.value()));
  out.key("best_so_far").begin_object();
  write_texts(out, leader);
  out.field("status", model::to_string(brain::status_of(step, index)));
  out.field("step", leader.own_reports().back().at);
  out.field("trial", index.value());
  write_values(out, search, leader.own_reports().back());
  out.end_object();
}

void write_search(json::Writer& out, const model::SearchSpec& search, const brain::Step& step) {
  const brain::Study& study = *step.study;
  out.key("search").begin_object();
  out.field("asked", static_cast<std::int64_t>(study.trials.size()));
  if (has_best(step)) write_best(out, search, study);
  if (const auto leader = best_so_far(search, step)) write_best_so_far(out, search, step, *leader);
  out.key("objectives").begin_list();
  for (const model::Objective& objective : search.objectives) {
    out.begin_object().field("metric", objective.metric);
    out.field("mode", objective.maximize ? "max" : "min").end_object();
  }
  out.end_list();
  out.field("parked", study.parked);
  out.end_object();
}

void write_warnings(json::Writer& out, const brain::Step& step) {
  if (step.warned == 0) return;
  out.field("warned", step.warned);
  out.key("warnings").begin_list();
  for (const brain::Warning& warning : step.warnings) {
    out.begin_object();
    out.field("action", model::to_string(warning.action));
    out.field("at", rfc3339(warning.at));
    out.field("attempt", warning.attempt.value());
    out.field("message", warning.message);
    out.field("rank", warning.rank);
    out.field("reason", model::to_string(warning.reason));
    write_time(out, "since", warning.since);
    out.field("task", warning.task.value());
    out.end_object();
  }
  out.end_list();
}

void write_published(json::Writer& out, const model::StepSpec& spec,
                     const model::VolumeVersions& published) {
  if (published.empty()) return;
  out.key("published").begin_list();
  for (const auto& [name, version] : published) {
    const auto use = std::ranges::find(spec.volumes, name, &model::VolumeUse::name);
    CHECK(use != spec.volumes.end(), "a step has published a volume that it does not have");
    out.begin_object().field("name", name).field("version", version);
    out.field("volume", use->volume).end_object();
  }
  out.end_list();
}

void write_step(json::Writer& out, const model::JobSpec& job, const model::StepSpec& spec,
                const brain::Step& step) {
  out.begin_object();
  write_text(out, "command", command_line(spec));
  write_cost(out, step.spent, step.rate, step.accrued_at);
  write_counts(out, step.counts);
  write_needs(out, job, spec);
  write_time(out, "ended_at", step.ended_at);
  out.field("lanes", step.lanes);
  out.field("name", spec.name);
  write_published(out, spec, step.published);
  out.field("ranks", spec.rank_count());
  write_text(out, "reason", step.reason);
  if (step.recent_millis >= 0) out.field("recent_ms", step.recent_millis);
  if (step.study) write_search(out, *spec.search, step);
  write_time(out, "started_at", step.started_at);
  out.field("status", model::to_string(step.status));
  out.field("tasks", spec.task_count);
  write_warnings(out, step);
  out.end_object();
}

void write_steps(json::Writer& out, const brain::Job& job) {
  out.key("steps").begin_list();
  for (std::size_t index = 0; index < job.steps.size(); ++index) {
    write_step(out, *job.spec, job.spec->steps[index], job.steps[index]);
  }
  out.end_list();
}

void write_first_failure(json::Writer& out, const brain::Job& job) {
  const std::optional<FirstFailure> failure = first_failure(job);
  if (!failure) return;
  out.key("first_failure").begin_object();
  out.field("exit_code", failure->exit_code);
  write_text(out, "reason", failure->reason);
  out.field("step", job.spec->steps.at(static_cast<std::size_t>(failure->step.value())).name);
  out.field("task", failure->task.value());
  out.end_object();
}

brain::StatusCounts all_counts(const brain::Job& job) {
  brain::StatusCounts sum{};
  for (const brain::Step& step : job.steps) {
    for (std::size_t slot = 0; slot < kStatuses; ++slot) sum[slot] += step.counts[slot];
  }
  return sum;
}

std::int64_t task_count(const brain::Job& job) {
  std::int64_t count = 0;
  for (const model::StepSpec& step : job.spec->steps) count += step.task_count;
  return count;
}

}  // namespace

void write_time(json::Writer& out, std::string_view key, Time time) {
  if (time != Time()) out.field(key, rfc3339(time));
}

void write_values(json::Writer& out, const model::SearchSpec& search,
                  const brain::TrialReport& report) {
  std::map<std::string_view, std::string_view> values;
  for (std::size_t i = 0; i < search.objectives.size(); ++i) {
    values[search.objectives[i].metric] = report.values.at(i);
  }
  out.key("values").begin_object();
  for (const auto& [metric, value] : values) {
    json::is_number(value) ? out.key(metric).raw(value) : out.field(metric, value);
  }
  out.end_object();
}

void write_job(json::Writer& out, const brain::Job& job, EventSeq version, JobView view,
               const std::string& progress) {
  CHECK(job.spec != nullptr, "a job without a specification");
  CHECK(job.steps.size() == job.spec->steps.size(),
        "a job whose steps are not its specification's");
  out.begin_object();
  write_job_cost(out, job);
  write_counts(out, all_counts(job));
  write_time(out, "ended_at", job.ended_at);
  if (auto code = exit_code_of(job)) out.field("exit_code", *code);
  out.field("first_event", job.first_event.value());
  if (view != JobView::kRow) write_first_failure(out, job);
  out.field("id", job.id.str());
  write_text(out, "message", job.message);
  out.field("name", job.spec->name);
  write_text(out, "owner", job.owner);
  out.field("priority", job.spec->priority);
  if (!progress.empty()) out.key("progress").raw(progress);
  out.field("project", job.project.str());
  out.field("queue", job.queue.str());
  write_text(out, "reason", job.reason);
  out.field("resource_version", version.value());
  if (view == JobView::kWithSpec) model::encode(out.key("spec"), *job.spec);
  write_time(out, "started_at", job.started_at);
  out.field("status", model::to_string(job.status));
  if (view != JobView::kRow) write_steps(out, job);
  write_time(out, "submitted_at", job.submitted_at);
  out.field("tasks", task_count(job));
  write_text(out, "workdir", job.spec->workdir);
  out.end_object();
}

std::string job_document(const brain::Job& job, EventSeq version, JobView view,
                         const std::string& progress) {
  std::string text;
  json::Writer out(text);
  write_job(out, job, version, view, progress);
  return text;
}

}  // namespace runnel::control
