#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "brain/outcome.h"
#include "brain/places.h"
#include "brain/state.h"

namespace runnel::brain {
namespace {

using model::Status;

std::size_t slot(Status status) { return static_cast<std::size_t>(status); }

void recount(Step& step, Status from, Status to, std::int64_t tasks = 1) {
  step.counts[slot(from)] -= tasks;
  step.counts[slot(to)] += tasks;
  CHECK(step.counts[slot(from)] >= 0, "a step counts fewer than no tasks in a status");
}

Job& job_at(State& state, const JobId& id) {
  auto found = state.jobs.find(id);
  CHECK(found != state.jobs.end(), "an event names a job that is not in the state");
  return found->second;
}

Step& step_at(State& state, const JobId& job, StepIndex step) {
  Job& owner = job_at(state, job);
  const auto index = static_cast<std::size_t>(step.value());
  CHECK(index < owner.steps.size(), "an event names a step that the job does not have");
  return owner.steps[index];
}

Task& live_task_at(Step& step, const model::AttemptRef& attempt) {
  auto found = step.tasks.find(attempt.task.index);
  CHECK(found != step.tasks.end(), "an event names an attempt of a task that is not live");
  CHECK(found->second.live.has_value(), "an event names an attempt that already ended");
  CHECK(found->second.live->number == attempt.attempt, "an event names another attempt");
  return found->second;
}

// The part of a plain set inside [begin, end), as ranges.
std::vector<IntervalSet::Range> overlap(const IntervalSet& set, std::int64_t begin,
                                        std::int64_t end) {
  std::vector<IntervalSet::Range> found;
  for (const auto& [from, to] : set.ranges()) {
    const std::int64_t low = std::max(from, begin);
    const std::int64_t high = std::min(to, end);
    if (low < high) found.emplace_back(low, high);
  }
  return found;
}

void change_plain(Step& step, std::int64_t begin, std::int64_t end, Status to) {
  for (auto& [status, set] : step.plain) {
    if (status == to || status == Status::kSucceeded) continue;
    for (const auto& [low, high] : overlap(set, begin, end)) {
      set.erase(low, high);
      step.plain[to].insert(low, high);
      recount(step, status, to, high - low);
    }
  }
}

bool is_asked(const Study& study, TaskIndex index) {
  return index.value() < static_cast<std::int64_t>(study.trials.size());
}

void unpark(Study& study, TaskIndex index) {
  if (!is_asked(study, index)) return;
  Trial& trial = study.trials[static_cast<std::size_t>(index.value())];
  if (std::exchange(trial.parked, false)) --study.parked;
}

// Its trial will come to another end.
void forget_end(Study& study, TaskIndex index) {
  if (!is_asked(study, index)) return;
  study.trials[static_cast<std::size_t>(index.value())].told.reset();
  std::erase(study.history, Study::Moment{Study::Moment::What::kTold, index.value()});
}

void change_kept(Step& step, const IntervalSet::Range& range, const model::TasksChanged& event) {
  auto task = step.tasks.lower_bound(TaskIndex(range.first));
  for (; task != step.tasks.end() && task->first.value() < range.second; ++task) {
    Task& kept = task->second;
    CHECK(!kept.live.has_value(), "tasks with a live attempt cannot change as a range");
    if (kept.status == event.to || kept.status == Status::kSucceeded) continue;
    if (model::is_end(kept.status)) {  // Reopened by its user: a new budget.
      kept.charged = 0;
      kept.losses = 0;
      kept.crashes = 0;
      kept.alone = 0;
      kept.outlive = Duration();
      if (step.study) forget_end(*step.study, task->first);
    }
    if (step.study) unpark(*step.study, task->first);
    recount(step, kept.status, event.to);
    kept.status = event.to;
    kept.reason = event.reason;
    kept.not_before = Time();
    kept.obstacle.clear();
    if (model::is_end(event.to)) kept.suspicion.reset();
  }
}

Task take_for_lane(Step& step, TaskIndex index) {
  auto kept = step.tasks.find(index);
  if (kept != step.tasks.end()) return kept->second;
  CHECK(step.plain[Status::kQueued].contains(index.value()), "a task is bound that is not waiting");
  step.plain[Status::kQueued].erase(index.value());
  return Task{};
}

void set_moments(Status to, Time now, Time& started_at, Time& ended_at) {
  if (to == Status::kRunning && started_at == Time()) started_at = now;
  ended_at = model::is_end(to) ? now : Time();
}

// Exponential moving average with weight 1/4, in integers.
void learn_run_time(Step& step, Time started_at, Time ended_at) {
  if (started_at == Time() || ended_at < started_at) return;
  const std::int64_t millis = (ended_at - started_at).millis();
  step.recent_millis = step.recent_millis < 0 ? millis : (step.recent_millis * 3 + millis + 3) / 4;
}

class Fold {
 public:
  Fold(State& state, Time now) : state_(state), now_(now) {}

  void operator()(const model::JobSubmitted& event) {
    Job job;
    job.id = event.job;
    job.project = event.project;
    job.queue = event.queue;
    job.owner = event.owner;
    job.order = ++state_.last_order;
    job.spec = event.spec;
    job.submitted_at = now_;
    job.first_event = state_.last_event;
    for (const model::StepSpec& spec : event.spec->steps) job.steps.push_back(new_step(spec));
    const bool added = state_.jobs.emplace(event.job, std::move(job)).second;
    CHECK(added, "a job id was given twice");
    if (event.idempotency_key.empty()) return;
    state_.keys[KeyName::of(event.project, event.actor, event.idempotency_key)] =
        KeyRecord{event.body_hash, event.job, now_};
  }

  void operator()(const model::JobChanged& event) {
    Job& job = job_at(state_, event.job);
    if (model::is_end(job.status)) std::erase(state_.finished, job.id);
    job.status = event.to;
    if (event.to == Status::kQueued || model::is_end(event.to)) job.halted = false;
    job.reason = event.reason;
    job.message = event.message;
    set_moments(event.to, now_, job.started_at, job.ended_at);
    if (model::is_end(event.to)) state_.finished.push_back(job.id);
  }

  void operator()(const model::StepChanged& event) {
    Step& step = step_at(state_, event.job, event.step);
    const bool is_retried = model::is_end(step.status) && event.to == Status::kQueued;
    step.status = event.to;
    step.reason = event.reason;
    if (step.study && is_retried) step.study->stopped.clear();
    set_moments(event.to, now_, step.started_at, step.ended_at);
    if (event.to == Status::kSucceeded) mark_ready_dependents(job_at(state_, event.job));
  }

  void operator()(const model::TasksChanged& event) {
    Step& step = step_at(state_, event.job, event.step);
    for (const auto& range : event.ranges) {
      change_plain(step, range.first, range.second, event.to);
      change_kept(step, range, event);
    }
  }

  void operator()(const model::LaneOpened& event) {
    Lane lane{.id = event.lane,
              .job = event.job,
              .step = event.step,
              .holding = event.holding,
              .per_place = event.per_place,
              .port = event.port,
              .apart = event.apart,
              .queue = {},
              .opened_at = now_,
              .progress_at = now_};
    CHECK(event.lane > state_.last_lane, "a lane id was given twice");
    state_.last_lane = event.lane;
    if (event.port != 0) state_.last_port = event.port;
    for (const model::Place& place : lane.places()) lane.rate = lane.rate + rate_at(lane, place);
    Step& step = step_at(state_, event.job, event.step);
    set_rate(step, step.rate + lane.rate);
    ++step.lanes;
    state_.lanes.emplace(event.lane, std::move(lane));
  }

  void operator()(const model::LaneExtended& event) {
    Lane& lane = lane_at(event.lane);
    if (lane.queue.empty()) lane.progress_at = now_;
    Step& step = step_at(state_, event.job, event.step);
    for (const model::LaneTask& bound : event.tasks) {
      Task task = take_for_lane(step, bound.index);
      CHECK(bound.attempt.value() == task.attempts.value() + 1, "attempt numbers must grow by one");
      recount(step, task.status, Status::kStarting);
      task.status = Status::kStarting;
      task.attempts = bound.attempt;
      task.not_before = Time();
      task.obstacle.clear();
      task.live = LiveAttempt{};
      task.live->number = bound.attempt;
      task.live->lane = event.lane;
      task.live->params = bound.params;
      step.tasks[bound.index] = std::move(task);
      lane.queue.push_back(bound.index);
    }
  }

  void operator()(const model::LaneClosed& event) {
    const Lane& lane = lane_at(event.lane);
    CHECK(lane.queue.empty(), "a lane closed with tasks on it");
    Step& step = step_at(state_, lane.job, lane.step);
    set_rate(step, step.rate - lane.rate);
    --step.lanes;
    state_.lanes.erase(event.lane);
  }

  void operator()(const model::LaneRenewed& event) { lane_at(event.lane).progress_at = now_; }

  void operator()(const model::AttemptRunning& event) {
    Step& step = step_at(state_, event.attempt.task.job, event.attempt.task.step);
    Task& task = live_task_at(step, event.attempt);
    task.live->status = Status::kRunning;
    task.live->started_at = event.started_at;
    recount(step, task.status, Status::kRunning);
    task.status = Status::kRunning;
  }

  void operator()(const model::RankEnded& event) {
    Step& step = step_at(state_, event.attempt.task.job, event.attempt.task.step);
    LiveAttempt& live = *live_task_at(step, event.attempt).live;
    live.ended_ranks[event.rank] = model::RankExit{event.rank, event.code, event.signal};
    const bool failed =
        event.code != 0 || event.signal != 0 || event.cause != model::EndCause::kExited;
    if (!failed || live.first_failed >= 0) return;
    live.first_failed = event.rank;
    live.first_failed_cause = event.cause;
  }

  void operator()(const model::AttemptStopping& event) {
    Step& step = step_at(state_, event.attempt.task.job, event.attempt.task.step);
    live_task_at(step, event.attempt).live->stopping = event.because;
  }

  void operator()(const model::TaskWarned& event) {
    Step& step = step_at(state_, event.attempt.task.job, event.attempt.task.step);
    LiveAttempt& live = *live_task_at(step, event.attempt).live;
    live.warned.push_back(event.reason);
    if (event.action != model::HealthAction::kWarn) {
      live.verdict = Verdict{event.reason, event.action, event.rank, event.message};
    }
    step.warnings.push_back({event.attempt.task.index, event.attempt.attempt, event.rank,
                             event.reason, event.action, event.message, event.since, now_});
    if (step.warnings.size() > kWarningsMax) step.warnings.pop_front();
    ++step.warned;
  }

  void operator()(const model::AttemptEnded& event) {
    Step& step = step_at(state_, event.attempt.task.job, event.attempt.task.step);
    Task& task = live_task_at(step, event.attempt);
    leave_lane(task.live->lane, event.attempt.task.index);
    learn_run_time(step, event.started_at, event.ended_at);
    if (!event.published.empty()) step.published = event.published;
    task.live.reset();
    if (event.charged) ++task.charged;
    task.losses = lost(event) ? task.losses + 1 : 0;
    task.not_before = event.not_before;
    const bool could_not_start = event.task == Status::kRecovering && event.reason == kStartFailed;
    task.obstacle = could_not_start ? event.message : "";
    task.exit_code = exit_code_of(event);
    task.reason = event.reason;
    if (model::is_end(event.task)) task.suspicion.reset();
    recount(step, task.status, event.task);
    task.status = event.task;
    const bool nothing_to_remember =
        event.task == Status::kSucceeded && task.attempts == AttemptNumber(1);
    if (!nothing_to_remember) return;
    step.tasks.erase(event.attempt.task.index);
    step.plain[Status::kSucceeded].insert(event.attempt.task.index.value());
  }

  void operator()(const model::RunnerCrashed& event) {
    CHECK(event.crash > 0, "a crash without a number");
    for (const model::RanAtCrash& ran : event.ran) {
      Task& task =
          live_task_at(step_at(state_, ran.attempt.task.job, ran.attempt.task.step), ran.attempt);
      ++task.crashes;
      task.outlive = ran.outlive;
      task.live->crashed = true;
      if (ran.turn < 0) continue;
      if (ran.alone) ++task.alone;
      task.suspicion = Suspicion{event.crash, ran.turn, ran.outlive, event.node, ran.alone};
    }
  }

  void operator()(const model::TaskCleared& event) {
    Step& step = step_at(state_, event.job, event.step);
    const auto kept = step.tasks.find(event.task);
    CHECK(kept != step.tasks.end(), "a task is cleared of which nothing is remembered");
    kept->second.crashes = 0;
    kept->second.alone = 0;
    kept->second.outlive = Duration();
    kept->second.suspicion.reset();
  }

  void operator()(const model::NodeJoined& event) {
    Node& node = state_.nodes[event.node.id];
    std::vector<model::QuarantinedDevice> quarantined = std::move(node.quarantined);
    node =
        Node{event.node, event.incarnation, true, {}, "", event.strangers, std::move(quarantined)};
  }

  void operator()(const model::StrangersEnded& event) {
    auto found = state_.nodes.find(event.node);
    CHECK(found != state_.nodes.end(), "strangers end on a node that never joined");
    std::erase_if(found->second.strangers, [&](const model::RankRef& rank) {
      return std::binary_search(event.ranks.begin(), event.ranks.end(), rank);
    });
  }

  void operator()(const model::DevicesQuarantined& event) {
    auto found = state_.nodes.find(event.node);
    CHECK(found != state_.nodes.end(), "devices vanish from a node that never joined");
    found->second.quarantined = event.devices;
  }

  void operator()(const model::NodeLeft& event) {
    auto found = state_.nodes.find(event.node);
    CHECK(found != state_.nodes.end(), "a node left that never joined");
    found->second.up = false;
    found->second.leaves_at = Time();
    found->second.reason = event.reason;
  }

  void operator()(const model::NodeLeaving& event) {
    auto found = state_.nodes.find(event.node);
    CHECK(found != state_.nodes.end(), "a node leaves that never joined");
    found->second.leaves_at = event.leaves_at;
    found->second.reason = event.reason;
  }

  void operator()(const model::JobArchived& event) { drop(event.job); }
  void operator()(const model::JobRestored& event) {
    Result<Job> job = decode_job(event.record);
    CHECK(job.ok(), "a restored job is not understood");
    CHECK(job->id == event.job, "the record of another job is restored");
    CHECK(job->order <= state_.last_order, "a job is restored that was never submitted");
    const bool added = state_.jobs.emplace(event.job, std::move(job).value()).second;
    CHECK(added, "a job is restored that is there");
    state_.finished.push_back(event.job);
  }
  void operator()(const model::JobDeleted& event) { drop(event.job); }
  void operator()(const model::KeyExpired& event) {
    state_.keys.erase({event.project, event.actor, event.key});
  }

  void operator()(const model::JobHalted& event) { job_at(state_, event.job).halted = true; }

  void operator()(const model::TrialAsked& event) {
    Study& study = study_at(event.job, event.step);
    CHECK(event.trial.value() == static_cast<std::int64_t>(study.trials.size()),
          "trials are asked for in the order of their numbers");
    if (study.trials.empty()) study.begun_at = now_;
    study.trials.push_back({.params = event.params});
    study.history.push_back({Study::Moment::What::kAsked, event.trial.value()});
  }

  void operator()(const model::TrialReported& event) {
    const model::TaskRef& task = event.attempt.task;
    Trial& trial = trial_at(task.job, task.step, task.index);
    const auto before = trial.own_reports();
    const bool of_another = before.empty() || before.back().attempt != event.attempt.attempt;
    CHECK(of_another || before.back().at < event.at, "an attempt's steps must grow");
    trial.reports.push_back({event.at, event.values, event.attempt.attempt});
    study_at(task.job, task.step)
        .history.push_back({Study::Moment::What::kReported, task.index.value()});
  }

  void operator()(const model::TrialParked& event) {
    Trial& trial = trial_at(event.job, event.step, event.trial);
    CHECK(!trial.parked, "a trial is parked twice");
    trial.parked = true;
    ++study_at(event.job, event.step).parked;
  }

  void operator()(const model::TrialPromoted& event) {
    Study& study = study_at(event.job, event.step);
    unpark(study, event.trial);
    study.history.push_back({Study::Moment::What::kPromoted, event.trial.value()});
  }

  void operator()(const model::TrialMoved& event) {
    Trial& trial = trial_at(event.job, event.step, event.trial);
    trial.moves.push_back({event.donor.value(), event.at,
                           static_cast<std::int64_t>(trial.reports.size()),
                           std::exchange(trial.params, event.params)});
    study_at(event.job, event.step)
        .history.push_back({Study::Moment::What::kMoved, event.trial.value()});
  }

  void operator()(const model::SearchStopped& event) {
    study_at(event.job, event.step).stopped = event.message;
  }

  void operator()(const model::TrialTold& event) {
    Study& study = study_at(event.job, event.step);
    Trial& trial = trial_at(event.job, event.step, event.trial);
    CHECK(!trial.told, "a trial is told twice");
    unpark(study, event.trial);
    trial.told = event.end;
    study.best = event.best;
    study.history.push_back({Study::Moment::What::kTold, event.trial.value()});
  }

 private:
  model::Rate rate_at(const Lane& lane, const model::Place& place) const {
    const auto node = state_.nodes.find(place.node);
    CHECK(node != state_.nodes.end(), "a lane opened on a node that never joined");
    return model::rate_of(node->second.info, held_by(state_, lane, place));
  }

  // From now on the step's lanes cost this much together.
  void set_rate(Step& step, const model::Rate& rate) const {
    if (rate == step.rate) return;
    step.spent = spent_by(step, now_);
    step.accrued_at = now_;
    step.rate = rate;
  }

  Step new_step(const model::StepSpec& spec) const {
    Step step;
    step.plain[Status::kQueued] = IntervalSet::of(0, spec.task_count);
    step.counts[slot(Status::kQueued)] = spec.task_count;
    if (spec.search) step.study.emplace();
    if (spec.depends_on.empty()) step.ready_since = now_;
    return step;
  }

  void mark_ready_dependents(Job& job) const {
    for (std::size_t index = 0; index < job.steps.size(); ++index) {
      const auto& needs = job.spec->steps[index].depends_on;
      const bool met = std::all_of(needs.begin(), needs.end(), [&](StepIndex need) {
        return job.steps[static_cast<std::size_t>(need.value())].status == Status::kSucceeded;
      });
      if (met && job.steps[index].ready_since == Time()) job.steps[index].ready_since = now_;
    }
  }

  Study& study_at(const JobId& job, StepIndex step) {
    std::optional<Study>& study = step_at(state_, job, step).study;
    CHECK(study.has_value(), "an event names a trial of a step without a search");
    return *study;
  }

  Trial& trial_at(const JobId& job, StepIndex step, TaskIndex trial) {
    Study& study = study_at(job, step);
    const auto index = static_cast<std::size_t>(trial.value());
    CHECK(index < study.trials.size(), "an event names a trial that was never asked for");
    return study.trials[index];
  }

  Lane& lane_at(LaneId id) {
    auto found = state_.lanes.find(id);
    CHECK(found != state_.lanes.end(), "an event names a lane that is not open");
    return found->second;
  }

  void leave_lane(LaneId id, TaskIndex index) {
    Lane& lane = lane_at(id);
    auto place = std::find(lane.queue.begin(), lane.queue.end(), index);
    CHECK(place != lane.queue.end(), "an attempt ended that its lane does not have");
    if (place == lane.queue.begin()) lane.progress_at = now_;
    lane.queue.erase(place);
  }

  static bool lost(const model::AttemptEnded& event) {
    return event.fault == model::Fault::kPlatform && !model::is_end(event.task);
  }

  static std::int32_t exit_code_of(const model::AttemptEnded& event) {
    for (const model::RankExit& exit : event.exits) {
      if (exit.rank == event.first_failed) return exit.signal != 0 ? 128 + exit.signal : exit.code;
    }
    return 0;
  }

  void drop(const JobId& id) {
    const Job& job = job_at(state_, id);
    CHECK(model::is_end(job.status), "an unfinished job cannot leave the state");
    std::erase(state_.finished, id);
    state_.jobs.erase(id);
  }

  State& state_;
  Time now_;
};

}  // namespace

void apply(State& state, const model::Event& event, Time now) {
  CHECK(now >= state.now, "events must not go back in time");
  state.now = now;
  state.last_event = EventSeq(state.last_event.value() + 1);
  std::visit(Fold(state, now), event);
}

model::Cost spent_by(const Step& step, Time now) {
  return step.spent + model::cost_of(step.rate, now - step.accrued_at);
}

const Step& step_of(const State& state, const JobId& job, StepIndex step) {
  auto found = state.jobs.find(job);
  CHECK(found != state.jobs.end(), "a step is asked for of a job that is not in the state");
  return found->second.steps.at(static_cast<std::size_t>(step.value()));
}

const model::StepSpec& spec_of(const State& state, const JobId& job, StepIndex step) {
  auto found = state.jobs.find(job);
  CHECK(found != state.jobs.end(), "a spec is asked for of a job that is not in the state");
  return found->second.spec->steps.at(static_cast<std::size_t>(step.value()));
}

model::Status status_of(const Step& step, TaskIndex index) {
  auto kept = step.tasks.find(index);
  if (kept != step.tasks.end()) return kept->second.status;
  for (const auto& [status, set] : step.plain) {
    if (set.contains(index.value())) return status;
  }
  CHECK(false, "a task index outside its step");
  return Status::kQueued;
}

AttemptNumber attempts_of(const Step& step, TaskIndex index) {
  const auto kept = step.tasks.find(index);
  if (kept != step.tasks.end()) return kept->second.attempts;
  // A task that was done at its first attempt is not remembered, and one that never began is not
  // either.
  return AttemptNumber(status_of(step, index) == Status::kSucceeded ? 1 : 0);
}

const Task* find_task(const State& state, const model::TaskRef& task) {
  auto job = state.jobs.find(task.job);
  if (job == state.jobs.end()) return nullptr;
  const auto step = static_cast<std::size_t>(task.step.value());
  if (step >= job->second.steps.size()) return nullptr;
  auto kept = job->second.steps[step].tasks.find(task.index);
  return kept == job->second.steps[step].tasks.end() ? nullptr : &kept->second;
}

bool all_ended(const StatusCounts& counts) {
  for (int status = 0; status < model::kStatusCount; ++status) {
    if (counts[static_cast<std::size_t>(status)] == 0) continue;
    if (!model::is_end(static_cast<Status>(status))) return false;
  }
  return true;
}

std::int64_t count_of(const StatusCounts& counts, Status status) { return counts[slot(status)]; }

bool has_work(const State& state) {
  if (!state.lanes.empty()) return true;
  if (state.jobs.size() == state.finished.size()) return false;
  return std::any_of(state.jobs.begin(), state.jobs.end(), [](const auto& entry) {
    const Status status = entry.second.status;
    return !model::is_end(status) && status != Status::kPaused;
  });
}

}  // namespace runnel::brain
