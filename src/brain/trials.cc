#include "brain/trials.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/nearest.h"
#include "brain/metric_names.h"
#include "brain/places.h"
#include "brain/population.h"
#include "search/sampling.h"

namespace runnel::brain {
namespace {

using model::Status;
using model::TrialEnd;

const model::SearchSpec& search_of(const Turn& turn, const StepKey& key) {
  return *spec_of(turn.state(), key.job, key.step).search;
}

const Study& study_of(const Turn& turn, const StepKey& key) {
  return *step_of(turn.state(), key.job, key.step).study;
}

const Trial& trial_of(const Turn& turn, const StepKey& key, TaskIndex index) {
  return study_of(turn, key).trials.at(static_cast<std::size_t>(index.value()));
}

// Whether the report is of a live attempt whose rank 0 runs on the node.
bool is_reporting(const Turn& turn, const NodeId& node, const model::MetricReport& report) {
  const Task* task = find_task(turn.state(), report.attempt.task);
  if (task == nullptr || !task->live || task->live->number != report.attempt.attempt) return false;
  const Share share = share_of(turn.state().lanes.at(task->live->lane), node);
  return share.rank_count > 0 && share.first_rank == 0;
}

// The objectives' values, in their order; nothing when one is missing.
std::optional<std::vector<std::string>> objective_values(const model::SearchSpec& search,
                                                         const model::MetricReport& report) {
  std::vector<std::string> values;
  for (const model::Objective& objective : search.objectives) {
    const auto found =
        std::find_if(report.values.begin(), report.values.end(),
                     [&](const auto& each) { return each.first == objective.metric; });
    if (found == report.values.end()) return std::nullopt;
    values.push_back(found->second);
  }
  return values;
}

// What a report is to those before it.
enum class News : std::uint8_t {
  kTold,    // Nothing: it was told before.
  kBehind,  // The first of an attempt that began again before the last step that another told.
  kNext,
};

News news_of(const Trial& trial, const TrialReport& report) {
  const auto before = trial.own_reports();
  if (before.empty() || before.back().at < report.at) return News::kNext;
  const AttemptNumber whose = before.back().attempt;
  const bool of_another = whose != AttemptNumber() && whose != report.attempt;
  return of_another ? News::kBehind : News::kTold;
}

std::optional<TaskIndex> unfinished_leader(Turn& turn, const StepKey& key);

// Nothing but this attempt runs or waits in its search.
bool only_one_left(const Turn& turn, const StepKey& key) {
  const StatusCounts& counts = step_of(turn.state(), key.job, key.step).counts;
  return count_of(counts, Status::kStarting) + count_of(counts, Status::kRunning) == 1 &&
         count_of(counts, Status::kQueued) == 0 && count_of(counts, Status::kRecovering) == 0;
}

bool reaches_end(const model::SearchSpec& search, std::int64_t at) {
  return search.pruner && search.pruner->max_step > 0 && at >= search.pruner->max_step;
}

// Whether the trial has reported the last step that its search looks at.
bool is_whole(const model::SearchSpec& search, const Trial& trial) {
  const auto reports = trial.own_reports();
  return !reports.empty() && reaches_end(search, reports.back().at);
}

void apply_verdict(Turn& turn, const StepKey& key, const model::AttemptRef& attempt, LaneId lane,
                   search::Verdict verdict) {
  if (verdict == search::Verdict::kGoOn) return;
  // It has come to its end meanwhile, and would only be kept from saving it.
  if (is_whole(search_of(turn, key), trial_of(turn, key, attempt.task.index))) return;
  const bool park = verdict == search::Verdict::kPause;
  // Nobody would get its place, and it would be brought back at once.
  if (park && only_one_left(turn, key) && unfinished_leader(turn, key) == attempt.task.index) {
    turn.emit(model::TrialPromoted{key.job, key.step, attempt.task.index});
    return;
  }
  if (park) turn.emit(model::TrialParked{key.job, key.step, attempt.task.index});
  const Status because = park ? Status::kPaused : Status::kPruned;
  turn.emit(model::AttemptStopping{attempt, lane, because, "search"});
}

// What trials are compared by, smaller first: whole ones come before those that were stopped, of
// these the ones that came furthest.
struct Standing {
  bool stopped = false;
  std::int64_t not_reached = 0;
  std::vector<double> values;
  friend auto operator<=>(const Standing&, const Standing&) = default;
};

// Nothing for a trial that gave no finite value.
std::optional<Standing> standing_of(const model::SearchSpec& search, const Trial& trial,
                                    TrialEnd end) {
  const auto reports = trial.own_reports();
  if (end == TrialEnd::kFailed || reports.empty()) return std::nullopt;
  Standing standing{end == TrialEnd::kPruned, 0, {}};
  if (standing.stopped) standing.not_reached = -reports.back().at;
  standing.values = values_of(search, reports.back());
  if (standing.values.empty()) return std::nullopt;
  return standing;
}

std::int64_t best_after(const Turn& turn, const StepKey& key, TaskIndex index, TrialEnd end) {
  const Study& study = study_of(turn, key);
  const model::SearchSpec& search = search_of(turn, key);
  const auto standing = standing_of(search, trial_of(turn, key, index), end);
  if (!standing) return study.best;
  if (study.best < 0) return index.value();
  const Trial& best = study.trials.at(static_cast<std::size_t>(study.best));
  const auto least = standing_of(search, best, *best.told);
  CHECK(least.has_value(), "the best trial of a search has no value");
  return *standing < *least ? index.value() : study.best;
}

std::optional<std::int64_t> next_promoted(Turn& turn, const StepKey& key) {
  if (turn.searcher(key).is_population()) return next_member(turn, key);
  return turn.searcher(key).promotable();
}

bool budget_spent(const Turn& turn, const StepKey& key);

// The paused trial that is furthest, when none that is whole is better: the best of a search has
// run to its end, if it can.
std::optional<TaskIndex> unfinished_leader(Turn& turn, const StepKey& key) {
  if (turn.searcher(key).is_population() || budget_spent(turn, key)) return std::nullopt;
  const std::optional<std::int64_t> leader = turn.searcher(key).leader();
  if (!leader) return std::nullopt;
  const TaskIndex index(*leader);
  const Study& study = study_of(turn, key);
  if (study.best < 0) return index;
  const Trial& best = study.trials.at(static_cast<std::size_t>(study.best));
  if (best.told != TrialEnd::kComplete) return index;
  const model::SearchSpec& search = search_of(turn, key);
  const auto whole = values_of(search, best.own_reports().back());
  const auto ahead = values_of(search, trial_of(turn, key, index).own_reports().back());
  return !ahead.empty() && ahead < whole ? std::optional(index) : std::nullopt;
}

bool limit_over(const Turn& turn, const StepKey& key) {
  const Duration limit = search_of(turn, key).max_duration;
  const Study& study = study_of(turn, key);
  if (limit.is_zero() || study.trials.empty()) return false;
  return turn.now() - study.begun_at >= limit;
}

bool budget_spent(const Turn& turn, const StepKey& key) {
  const Money budget = search_of(turn, key).budget;
  const Step& step = step_of(turn.state(), key.job, key.step);
  return !budget.is_zero() && spent_by(step, turn.now()).paid >= budget;
}

void prune_fresh(Turn& turn, const StepKey& key) {
  const Step& step = step_of(turn.state(), key.job, key.step);
  const auto queued = step.plain.find(Status::kQueued);
  if (queued == step.plain.end() || queued->second.empty()) return;
  turn.emit(model::TasksChanged{key.job, key.step, queued->second.ranges(), Status::kPruned,
                                "SearchEnded", "search"});
  turn.want_plan();  // No room is kept for them any more.
}

void prune_parked(Turn& turn, const StepKey& key) {
  for (std::size_t i = 0; i < study_of(turn, key).trials.size(); ++i) {
    if (!study_of(turn, key).trials[i].parked) continue;
    const TaskIndex index(static_cast<std::int64_t>(i));
    turn.emit(model::TasksChanged{key.job,
                                  key.step,
                                  {{index.value(), index.value() + 1}},
                                  Status::kPruned,
                                  "SearchEnded",
                                  "search"});
    tell_trial(turn, {key.job, key.step, index});
  }
}

// Puts a trial that the search had parked before the new ones.
void queue_again(Turn& turn, const StepKey& key, TaskIndex index) {
  turn.emit(model::TasksChanged{key.job,
                                key.step,
                                {{index.value(), index.value() + 1}},
                                Status::kQueued,
                                "Promoted",
                                "search"});
  turn.want_plan();
}

// Trials that wait, also for another attempt, which would cost more.
std::vector<TaskIndex> waiting_trials(const Step& step) {
  std::vector<TaskIndex> waiting;
  for (const auto& [index, task] : step.tasks) {
    const bool waits = task.status == Status::kQueued || task.status == Status::kRecovering;
    if (waits && !task.live) waiting.push_back(index);
  }
  return waiting;
}

std::vector<std::pair<model::AttemptRef, LaneId>> going_on(const StepKey& key, const Step& step) {
  std::vector<std::pair<model::AttemptRef, LaneId>> found;
  for (const auto& [index, task] : step.tasks) {
    if (!task.live || !task.live->continues()) continue;
    found.emplace_back(model::AttemptRef{{key.job, key.step, index}, task.live->number},
                       task.live->lane);
  }
  return found;
}

void prune_waiting(Turn& turn, const StepKey& key, const std::string& reason) {
  for (const TaskIndex index : waiting_trials(step_of(turn.state(), key.job, key.step))) {
    turn.emit(model::TasksChanged{key.job,
                                  key.step,
                                  {{index.value(), index.value() + 1}},
                                  Status::kPruned,
                                  reason,
                                  "search"});
    tell_trial(turn, {key.job, key.step, index});
    turn.want_plan();  // No room is kept for it any more.
  }
}

// What runs is asked to end: the sum goes over the budget by one grace at most.
void stop_spending(Turn& turn, const StepKey& key) {
  prune_waiting(turn, key, "BudgetSpent");
  const Step& step = step_of(turn.state(), key.job, key.step);
  for (const auto& [attempt, lane] : going_on(key, step)) {
    turn.emit(model::AttemptStopping{attempt, lane, Status::kPruned, "search"});
  }
}

}  // namespace

void promote_trials(Turn& turn, const StepKey& key) {
  const Step& step = step_of(turn.state(), key.job, key.step);
  const Job& job = turn.state().jobs.at(key.job);
  if (!step.study || job.halted || !may_run(job, key.step) || budget_spent(turn, key)) return;
  if (!step.study->stopped.empty()) return;
  // A population that takes turns would go on to its end.
  if (limit_over(turn, key) && turn.searcher(key).is_population()) return;
  for (;;) {
    const std::optional<std::int64_t> trial = next_promoted(turn, key);
    if (!trial) return;
    const model::TaskRef task{key.job, key.step, TaskIndex(*trial)};
    const bool parked = trial_of(turn, key, task.index).parked;
    // While its attempt is still ending it is not there to go on; its end leads here again.
    if (parked && find_task(turn.state(), task)->live) return;
    turn.emit(model::TrialPromoted{key.job, key.step, task.index});
    // The pruner would have paused it, had it not ended, failed or been cancelled just then.
    if (!parked) continue;
    queue_again(turn, key, task.index);
  }
}

namespace {

bool nothing_goes_on(const Step& step) {
  constexpr Status kGoingOn[] = {Status::kQueued,  Status::kAdmitted,   Status::kStarting,
                                 Status::kRunning, Status::kCompleting, Status::kRecovering};
  const bool idle = std::all_of(std::begin(kGoingOn), std::end(kGoingOn),
                                [&](Status status) { return count_of(step.counts, status) == 0; });
  return idle && count_of(step.counts, Status::kPaused) == step.study->parked;
}

bool is_objective(const model::SearchSpec& search, std::string_view name) {
  return std::any_of(search.objectives.begin(), search.objectives.end(),
                     [&](const model::Objective& objective) { return objective.metric == name; });
}

// "'lr', 'seconds'".
std::string names_in(const model::MetricReport& report) {
  std::string text;
  for (const auto& [name, value] : report.values) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

bool has_metric(const model::MetricReport& report, const std::string& name) {
  return std::any_of(report.values.begin(), report.values.end(),
                     [&](const auto& value) { return value.first == name; });
}

// Why a trial that reported nothing at all may have believed that it did.
std::string unread(const model::StepSpec& step, const std::string& metric,
                   const model::MetricReport& last) {
  if (last.bad_lines > 0) {
    return ": " + std::to_string(last.bad_lines) +
           " line(s) of its metrics file are no JSON object of numbers with a whole step";
  }
  if (!step.metrics.log.empty()) return ": no line of its output matched `metrics.log`";
  return ": call runnel.report(step=, " + metric +
         "=), or append a JSON line to $RUNNEL_METRICS_FILE";
}

std::string missing(const model::StepSpec& step, const model::MetricReport& last) {
  const std::vector<model::Objective>& objectives = step.search->objectives;
  const auto absent = std::find_if(
      objectives.begin(), objectives.end(),
      [&](const model::Objective& objective) { return !has_metric(last, objective.metric); });
  const std::string& metric =
      absent == objectives.end() ? objectives.front().metric : absent->metric;
  if (last.values.empty()) return "it never reported '" + metric + "'" + unread(step, metric, last);
  std::vector<std::string_view> others;
  for (const auto& [name, value] : last.values) {
    if (!is_objective(*step.search, name)) others.emplace_back(name);
  }
  const std::string meant = nearest(metric, others);
  return "it never reported '" + metric + "', only " + names_in(last) +
         (meant.empty() ? "" : "; did you mean '" + meant + "'?");
}

bool any_reported(const Study& study) {
  return std::any_of(study.trials.begin(), study.trials.end(),
                     [](const Trial& trial) { return !trial.reports.empty(); });
}

bool is_warned_of_name(const Step& step) {
  return std::any_of(step.warnings.begin(), step.warnings.end(), [](const Warning& warning) {
    return warning.reason == model::HealthProblem::kMetricMissing;
  });
}

// An objective, and the name that a report has instead of it, by its likeness.
std::optional<std::pair<std::string, std::string>> misnamed(const model::SearchSpec& search,
                                                            const model::MetricReport& report) {
  for (const model::Objective& objective : search.objectives) {
    if (has_metric(report, objective.metric)) continue;
    for (const auto& [name, value] : report.values) {
      if (is_objective(search, name)) continue;
      if (looks_misspelt(name, objective.metric)) return std::pair(objective.metric, name);
    }
  }
  return std::nullopt;
}

bool has_values(const model::SearchSpec& search, const StepKey& key,
                const std::vector<model::MetricReport>& reports) {
  return std::any_of(reports.begin(), reports.end(), [&](const model::MetricReport& report) {
    const bool same = report.attempt.task.job == key.job && report.attempt.task.step == key.step;
    return same && objective_values(search, report);
  });
}

// An attempt that was asked to end may have had no time to report.
bool may_warn_of_metric(const Turn& turn, const model::AttemptRef& attempt) {
  const StepKey key{attempt.task.job, attempt.task.step};
  const LiveAttempt& live = *find_task(turn.state(), attempt.task)->live;
  const bool told = std::find(live.warned.begin(), live.warned.end(),
                              model::HealthProblem::kMetricMissing) != live.warned.end();
  return !told && live.continues() && !is_warned_of_name(step_of(turn.state(), key.job, key.step));
}

void warn_of_metric(Turn& turn, const model::AttemptRef& attempt, std::string message) {
  if (any_reported(study_of(turn, {attempt.task.job, attempt.task.step}))) return;
  turn.emit(model::TaskWarned{attempt, 0, model::HealthProblem::kMetricMissing, std::move(message),
                              turn.now(), model::HealthAction::kWarn});
}

// A misspelt metric is worth a word before the trials have trained to their end for nothing. One
// that is reported at other steps than others is no mistake, so the names must be alike. `beside`:
// what was reported in the same moment, since a program may write a line for each metric.
void warn_of_name(Turn& turn, const model::MetricReport& report,
                  const std::vector<model::MetricReport>& beside) {
  if (!may_warn_of_metric(turn, report.attempt)) return;
  const StepKey key{report.attempt.task.job, report.attempt.task.step};
  const model::SearchSpec& search = search_of(turn, key);
  const auto names = misnamed(search, report);
  if (!names || has_values(search, key, beside)) return;
  warn_of_metric(turn, report.attempt,
                 "it reported '" + names->second + "' at step " + std::to_string(report.step) +
                     " and not '" + names->first +
                     "', by which the search compares trials: is that misspelt?");
}

// The first trial that ends without its metric is a warning to the others, which are likely to.
void warn_of_missing(Turn& turn, const model::AttemptRef& attempt, const std::string& message) {
  if (may_warn_of_metric(turn, attempt)) warn_of_metric(turn, attempt, message);
}

enum class Worth : std::uint8_t { kUsed, kUseless };

// Whether the report says nothing that its search could use, and others of its attempt follow.
Worth take_metric(Turn& turn, const NodeId& node, const model::MetricReport& report) {
  if (!is_reporting(turn, node, report)) return Worth::kUsed;
  const StepKey key{report.attempt.task.job, report.attempt.task.step};
  if (!spec_of(turn.state(), key.job, key.step).search) return Worth::kUsed;
  const auto values = objective_values(search_of(turn, key), report);
  if (!values && !report.last) return Worth::kUseless;
  if (!values) {
    turn.note_useless(report);
  } else {
    take_values(turn, report.attempt, {report.step, *values, report.attempt.attempt},
                report.last ? Last::kYes : Last::kNo);
  }
  return Worth::kUsed;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> params_of(Turn& turn, const StepKey& key,
                                                           TaskIndex index) {
  const Step& step = step_of(turn.state(), key.job, key.step);
  const std::int64_t seed = turn.state().jobs.at(key.job).spec->seed;
  if (!step.study) {
    return search::draw(spec_of(turn.state(), key.job, key.step), seed, key.step, index);
  }
  const auto asked = static_cast<std::int64_t>(step.study->trials.size());
  if (index.value() == asked) {
    turn.emit(model::TrialAsked{key.job, key.step, index, turn.searcher(key).suggest(*step.study)});
  }
  return trial_of(turn, key, index).params;
}

void take_metrics(Turn& turn, const NodeId& node, const std::vector<model::MetricReport>& reports) {
  std::vector<const model::MetricReport*> useless;
  for (const model::MetricReport& report : reports) {
    if (take_metric(turn, node, report) == Worth::kUseless) useless.push_back(&report);
  }
  for (const model::MetricReport* report : useless) warn_of_name(turn, *report, reports);
}

void take_values(Turn& turn, const model::AttemptRef& attempt, TrialReport report, Last last) {
  const StepKey key{attempt.task.job, attempt.task.step};
  const TaskIndex index = attempt.task.index;
  const Trial& trial = trial_of(turn, key, index);
  const News news = news_of(trial, report);
  if (news == News::kTold) return;
  const std::optional<std::int64_t> next = find_task(turn.state(), attempt.task)->live->stopping
                                               ? std::nullopt
                                               : turn.searcher(key).next_judged(index.value());
  const bool judged = next && report.at >= *next;
  const bool whole =
      reaches_end(search_of(turn, key), report.at) && !is_whole(search_of(turn, key), trial);
  if (!judged && !whole && news != News::kBehind && last == Last::kNo) return;
  turn.emit(model::TrialReported{attempt, report.at, std::move(report.values)});
  if (judged) turn.judged(attempt);
}

void obey_verdicts(Turn& turn) {
  for (const model::AttemptRef& attempt : turn.take_judged()) {
    const Task* task = find_task(turn.state(), attempt.task);
    if (task == nullptr || !task->live || task->live->number != attempt.attempt) continue;
    if (task->live->stopping) continue;
    const StepKey key{attempt.task.job, attempt.task.step};
    if (turn.searcher(key).is_population()) {
      if (!limit_over(turn, key)) steer_member(turn, key, attempt);
    } else {
      apply_verdict(turn, key, attempt, task->live->lane,
                    turn.searcher(key).verdict(attempt.task.index.value()));
    }
    promote_trials(turn, key);
  }
}

namespace {

// Whether a trial that was asked to pause after its last step may go on to its own end.
bool may_finish(Turn& turn, const StepKey& key) {
  const bool halted = turn.state().jobs.at(key.job).halted;
  return !halted && study_of(turn, key).stopped.empty() && !budget_spent(turn, key);
}

}  // namespace

void judge_result(Turn& turn, const model::AttemptRef& attempt, Outcome& outcome) {
  const StepKey key{attempt.task.job, attempt.task.step};
  if (!spec_of(turn.state(), key.job, key.step).search) return;
  const Trial& trial = trial_of(turn, key, attempt.task.index);
  const bool whole = is_whole(search_of(turn, key), trial);
  if (whole && outcome.task == Status::kPruned) {
    outcome.message = "it had reported max_step, and was asked to end before it left by itself";
  }
  if (outcome.task == Status::kPaused && trial.parked) {
    outcome.reason = "Parked";
    if (whole && may_finish(turn, key)) {
      turn.emit(model::TrialPromoted{key.job, key.step, attempt.task.index});
      outcome = {.attempt = Status::kPreempted,
                 .task = Status::kRecovering,
                 .reason = std::string(kUnfinished),
                 .message = "it had reported max_step when it was asked to pause"};
    }
  }
  if (outcome.task != Status::kSucceeded) return;
  const model::SearchSpec& search = search_of(turn, key);
  const auto fail = [&](std::string reason, std::string message) {
    outcome.attempt = outcome.task = Status::kFailed;
    outcome.fault = model::Fault::kUser;
    outcome.reason = std::move(reason);
    outcome.message = std::move(message);
  };
  const auto reports = trial.own_reports();
  if (reports.empty() && !trial.moves.empty()) {
    outcome.task = Status::kPruned;
    outcome.reason = "NothingLeft";
    outcome.message = "it went on from trial " + std::to_string(trial.moves.back().donor) +
                      ", which had nothing left to train";
    return;
  }
  if (reports.empty()) {
    fail("MetricMissing",
         missing(spec_of(turn.state(), key.job, key.step), turn.useless_of(attempt)));
    return warn_of_missing(turn, attempt, outcome.message);
  }
  for (std::size_t i = 0; i < search.objectives.size(); ++i) {
    const std::string& value = reports.back().values.at(i);
    if (comparable_value(search.objectives[i], value)) continue;
    return fail("MetricNotFinite", "its last '" + search.objectives[i].metric + "' is " + value);
  }
}

void tell_trial(Turn& turn, const model::TaskRef& task) {
  const StepKey key{task.job, task.step};
  const Step& step = step_of(turn.state(), key.job, key.step);
  if (!step.study) return;
  const Status status = status_of(step, task.index);
  if (!model::is_end(status) || trial_of(turn, key, task.index).told) return;
  TrialEnd end = TrialEnd::kFailed;
  if (status == Status::kSucceeded) end = TrialEnd::kComplete;
  if (status == Status::kPruned) end = TrialEnd::kPruned;
  turn.emit(
      model::TrialTold{key.job, key.step, task.index, end, best_after(turn, key, task.index, end)});
}

void steer_search(Turn& turn, const StepKey& key) {
  const Step& step = step_of(turn.state(), key.job, key.step);
  if (!step.study || model::is_end(step.status) || turn.state().jobs.at(key.job).halted) return;
  promote_trials(turn, key);
  const bool spent = budget_spent(turn, key);
  const bool over = limit_over(turn, key);
  if (spent || over) prune_fresh(turn, key);
  // Nobody may ever ask for it again.
  if (over && spec_of(turn.state(), key.job, key.step).is_external()) {
    prune_waiting(turn, key, "SearchEnded");
  }
  if (spent) stop_spending(turn, key);
  if (step.study->parked == 0 || !nothing_goes_on(step)) return;
  const auto leader = step.study->stopped.empty() ? unfinished_leader(turn, key) : std::nullopt;
  if (!leader) return prune_parked(turn, key);
  turn.emit(model::TrialPromoted{key.job, key.step, *leader});
  queue_again(turn, key, *leader);
}

}  // namespace runnel::brain
