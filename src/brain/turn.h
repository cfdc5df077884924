#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "brain/index.h"
#include "brain/state.h"
#include "model/event.h"
#include "model/input.h"

namespace runnel::brain {

// One decision in the making.
//
// Contract: emit() is the only way to change anything: the event is folded into the state and the
//           index at once, so the next rule sees it. Rules mark what they touched; settle() then
//           draws the consequences in one fixed order.
// Why:      a rule that looks at a half-changed state is the classic bug of schedulers; here there
//           is no other state than the one a replay would have.
class Turn {
 public:
  Turn(State& state, Index& index, const Limits& limits, Time now)
      : state_(state), index_(index), limits_(limits), now_(now) {}

  void emit(model::Event event) {
    // apply() drops it next.
    if (const auto* archived = std::get_if<model::JobArchived>(&event)) {
      archived_.push_back(std::move(state_.jobs.at(archived->job)));
    }
    apply(state_, event, now_);
    index_.follow(state_, event);
    events_.push_back(std::move(event));
  }

  const State& state() const { return state_; }
  const Index& index() const { return index_; }
  const Limits& limits() const { return limits_; }
  Time now() const { return now_; }

  void touch_step(const JobId& job, StepIndex step) { steps_.insert(StepKey{job, step}); }
  void touch_lane(LaneId lane) { lanes_.insert(lane); }
  // The lane gets no more tasks: its port is taken, and another lane has another one.
  void give_up_lane(LaneId lane) { given_up_.insert(lane); }
  bool is_given_up(LaneId lane) const { return given_up_.contains(lane); }
  // Room appeared, or somebody new wants room.
  void want_plan() { plan_wanted_ = true; }

  // The search of a step, told of everything so far.
  Searcher& searcher(const StepKey& key) { return index_.searcher(state_, key); }

  // An attempt's last report that lacks what its search looks at: to be named when it ends.
  void note_useless(const model::MetricReport& report) { useless_[report.attempt] = report; }
  // Without anything in it where there was none.
  model::MetricReport useless_of(const model::AttemptRef& attempt) const {
    const auto found = useless_.find(attempt);
    return found == useless_.end() ? model::MetricReport{attempt, 0, {}, true} : found->second;
  }

  // A report of this attempt was judged in this turn.
  void judged(const model::AttemptRef& attempt) { judged_.insert(attempt); }
  std::set<model::AttemptRef> take_judged() { return std::exchange(judged_, {}); }

  std::set<StepKey> take_steps() { return std::exchange(steps_, {}); }
  std::set<LaneId> take_lanes() { return std::exchange(lanes_, {}); }
  bool take_plan_wanted() {
    planned_ = planned_ || plan_wanted_;
    return std::exchange(plan_wanted_, false);
  }
  // Whether a plan has looked at all that is due now.
  bool planned() const { return planned_; }
  std::vector<model::Event> take_events() { return std::move(events_); }
  std::vector<Job> take_archived() { return std::move(archived_); }

  std::optional<Error> refusal;
  JobId answer;                             // The job a submission or request is about.
  std::optional<model::AttemptRef> called;  // The attempt that a TrialCall is about.
  bool repeated = false;

 private:
  State& state_;
  Index& index_;
  const Limits& limits_;
  Time now_;
  std::vector<model::Event> events_;
  std::vector<Job> archived_;
  std::set<StepKey> steps_;
  std::set<LaneId> lanes_;
  std::set<LaneId> given_up_;
  std::map<model::AttemptRef, model::MetricReport> useless_;
  std::set<model::AttemptRef> judged_;
  bool plan_wanted_ = false;
  bool planned_ = false;
};

// The rules, one file each. None returns anything: what they decide is in the turn.
void on_submit(Turn& turn, const model::Submit& input);           // submit.cc
void on_request(Turn& turn, const model::JobRequest& input);      // request.cc
void on_join(Turn& turn, const model::NodeJoin& input);           // report.cc
void on_lost(Turn& turn, const model::NodeLost& input);           // report.cc
void on_report(Turn& turn, const model::NodeReport& input);       // report.cc
void on_notice(Turn& turn, const model::NodeNotice& input);       // leave.cc
void on_declared(Turn& turn, const model::NodesDeclared& input);  // declare.cc
void on_trial_call(Turn& turn, const model::TrialCall& input);    // external_trials.cc
void on_recovered(Turn& turn);                                    // external_trials.cc
void leave(Turn& turn);        // leave.cc: nodes whose notice is over
void stop_asking(Turn& turn);  // housekeep.cc: searches whose time is over
void expire(Turn& turn);       // housekeep.cc: keys, archive
void end_silent(Turn& turn);   // external_trials.cc: trials whose asker was not heard of
void end_released(
    Turn& turn);          // external_trials.cc: trials that were stopped, which no node will end
void settle(Turn& turn);  // schedule.cc
void progress_step(Turn& turn, const StepKey& key);  // progress.cc
void withdraw_congested(Turn& turn);                 // schedule.cc

// Ends one live attempt whose ranks have all ended or are lost. `last` completes the exits that the
// live attempt already holds.
void end_attempt(Turn& turn, const model::AttemptRef& attempt, const model::RankReport& last);

}  // namespace runnel::brain
