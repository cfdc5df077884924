#include "control/trial_document.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/check.h"
#include "control/best_trials.h"
#include "control/job_document.h"
#include "json/value.h"
#include "model/status.h"

namespace runnel::control {
namespace {

const brain::Step& searching_step(const brain::Job& job, StepIndex step) {
  return job.steps.at(static_cast<std::size_t>(step.value()));
}

const model::StepSpec& searching_spec(const brain::Job& job, StepIndex step) {
  return job.spec->steps.at(static_cast<std::size_t>(step.value()));
}

void write_params(json::Writer& out, const brain::Trial& trial) {
  out.key("params").begin_object();
  for (const auto& [name, value] : std::map(trial.params.begin(), trial.params.end())) {
    json::is_number(value) ? out.key(name).raw(value) : out.field(name, value);
  }
  out.end_object();
}

void write_reports(json::Writer& out, const model::SearchSpec& search, const brain::Trial& trial) {
  out.key("reports").begin_list();
  for (const brain::TrialReport& report : trial.standing_reports()) {
    out.begin_object().field("step", report.at);
    write_values(out, search, report);
    out.end_object();
  }
  out.end_list();
}

// From whom a member of a population went on, at which step of its own.
void write_moves(json::Writer& out, const brain::Trial& trial) {
  if (trial.moves.empty()) return;
  out.key("moves").begin_list();
  for (const brain::TrialMove& move : trial.moves) {
    out.begin_object().field("from", move.donor).field("step", move.at).end_object();
  }
  out.end_list();
}

enum class Reports : std::uint8_t { kNone, kAll };

enum class Best : std::uint8_t { kNo, kYes, kNotTold };

Best best_of(const brain::Job& job, StepIndex step, TaskIndex trial) {
  const model::SearchSpec& search = *searching_spec(job, step).search;
  return is_best_trial(search, searching_step(job, step), trial) ? Best::kYes : Best::kNo;
}

void write_members(json::Writer& out, const brain::Job& job, StepIndex at, TaskIndex index,
                   Reports reports, Best best) {
  const brain::Step& step = searching_step(job, at);
  const model::StepSpec& spec = searching_spec(job, at);
  CHECK(step.study.has_value() && spec.search.has_value(), "only searches have trials");
  CHECK(index.value() < static_cast<std::int64_t>(step.study->trials.size()),
        "a trial is shown that nobody asked for");
  const brain::Trial& trial = step.study->trials.at(static_cast<std::size_t>(index.value()));
  out.field("attempt", brain::attempts_of(step, index).value());
  if (best != Best::kNotTold) out.field("best", best == Best::kYes);
  out.field("id", job.id.str());
  write_moves(out, trial);
  write_params(out, trial);
  const auto kept = step.tasks.find(index);
  const bool known = kept != step.tasks.end() && !kept->second.reason.empty();
  if (known) out.field("reason", kept->second.reason);
  if (reports == Reports::kAll) write_reports(out, *spec.search, trial);
  out.field("status", model::to_string(brain::status_of(step, index)));
  out.field("step", spec.name);
}

bool is_over(const brain::Step& step, const model::AttemptRef& attempt) {
  const auto kept = step.tasks.find(attempt.task.index);
  if (kept == step.tasks.end()) return true;
  return !kept->second.live || kept->second.live->number != attempt.attempt;
}

void write_result(json::Writer& out, const brain::Job& job, StepIndex step, TaskIndex trial) {
  out.field("trial", trial.value());
  const brain::Study& study = *searching_step(job, step).study;
  const auto reports = study.trials.at(static_cast<std::size_t>(trial.value())).own_reports();
  if (reports.empty()) return;
  out.field("value_step", reports.back().at);
  write_values(out, *searching_spec(job, step).search, reports.back());
}

// Whether nobody will ever get a trial of it any more.
bool is_finished(const brain::Job& job, StepIndex step) {
  return model::is_end(job.status) || model::is_end(searching_step(job, step).status);
}

}  // namespace

void write_trials(json::Writer& out, const brain::Job& job, StepIndex step, std::int64_t from,
                  std::int64_t end) {
  const std::vector<std::int64_t> best =
      best_trials(*searching_spec(job, step).search, searching_step(job, step));
  out.begin_list();
  for (std::int64_t at = from; at < end; ++at) {
    const bool marked = std::binary_search(best.begin(), best.end(), at);
    out.begin_object();
    write_members(out, job, step, TaskIndex(at), Reports::kNone, marked ? Best::kYes : Best::kNo);
    write_result(out, job, step, TaskIndex(at));
    out.end_object();
  }
  out.end_list();
}

std::string trial_document(const brain::Job& job, StepIndex step, TaskIndex trial) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  write_members(out, job, step, trial, Reports::kAll, best_of(job, step, trial));
  write_result(out, job, step, trial);
  out.end_object();
  return text;
}

std::string trial_answer(const brain::Job& job, StepIndex step,
                         const std::optional<model::AttemptRef>& attempt) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  if (attempt) {
    const TaskIndex trial = attempt->task.index;
    // Each call is answered: a front takes a look at all trials, which whoever asks for it pays.
    const bool has_front = searching_spec(job, step).search->objectives.size() > 1;
    const Best best = has_front ? Best::kNotTold : best_of(job, step, trial);
    write_members(out, job, step, trial, Reports::kNone, best);
    out.field("stop", is_over(searching_step(job, step), *attempt));
    write_result(out, job, step, trial);
  } else {
    out.field("finished", is_finished(job, step));
    out.field("running",
              brain::count_of(searching_step(job, step).counts, model::Status::kRunning));
    out.key("trial").raw("null");
    const brain::StatusCounts& counts = searching_step(job, step).counts;
    out.field("waiting", brain::count_of(counts, model::Status::kQueued) +
                             brain::count_of(counts, model::Status::kRecovering));
  }
  out.end_object();
  return text;
}

}  // namespace runnel::control
