#include "brain/brain.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "brain/explain.h"
#include "brain/index.h"
#include "brain/index_check.h"
#include "brain/quarantine.h"
#include "brain/suspects.h"
#include "brain/turn.h"
#include "sched/plan.h"

namespace runnel::brain {
namespace {

struct Rules {
  Turn& turn;
  void operator()(const model::Submit& input) const { on_submit(turn, input); }
  void operator()(const model::JobRequest& input) const { on_request(turn, input); }
  void operator()(const model::NodeJoin& input) const { on_join(turn, input); }
  void operator()(const model::NodeLost& input) const { on_lost(turn, input); }
  void operator()(const model::NodeReport& input) const { on_report(turn, input); }
  void operator()(const model::NodeNotice& input) const { on_notice(turn, input); }
  void operator()(const model::NodesDeclared& input) const { on_declared(turn, input); }
  void operator()(const model::Recovered&) const { on_recovered(turn); }
  void operator()(const model::TrialCall& input) const { on_trial_call(turn, input); }
  void operator()(const model::Wake&) const { turn.want_plan(); }
};

}  // namespace

Brain::Brain(State state, Limits limits)
    : state_(std::move(state)),
      limits_(limits),
      index_(std::make_unique<Index>(Index::build(state_))) {}
Brain::~Brain() = default;
Brain::Brain(Brain&&) noexcept = default;
Brain& Brain::operator=(Brain&&) noexcept = default;

Decision Brain::decide(const model::Input& input, Time now) {
  Turn turn(state_, *index_, limits_, std::max(now, state_.now));
  std::visit(Rules{turn}, input);
  leave(turn);
  release_devices(turn);
  end_silent(turn);
  withdraw_congested(turn);
  stop_asking(turn);
  clear_proven(turn);
  // Any input may have changed whose turn it is.
  if (!index_->suspects.empty()) turn.want_plan();
  settle(turn);
  expire(turn);
  if (turn.planned()) planned_at_ = turn.now();
  looked_at_ = turn.now();
  return Decision{turn.take_events(), turn.take_archived(), std::move(turn.refusal),
                  turn.answer,        turn.repeated,        turn.called};
}

void Brain::replay(const std::vector<model::Event>& events, Time now) {
  for (const model::Event& event : events) {
    apply(state_, event, std::max(now, state_.now));
    index_->follow(state_, event);
  }
}

std::string Brain::check_index() const { return brain::check_index(*index_, state_); }

std::size_t Brain::catch_up_searches(std::size_t trials_max) {
  return index_->make_searchers(state_, trials_max);
}

Result<std::vector<Wait>> Brain::explain(const JobId& job, Time now) const {
  return brain::explain(state_, *index_, job, now);
}

std::optional<Time> Brain::next_wake(Time now) const {
  std::optional<Time> earliest;
  const auto consider = [&](Time at) {
    at = std::max(at, now);
    earliest = earliest.has_value() ? std::min(*earliest, at) : at;
  };
  // A plan has looked at what was due until planned_at_: since then only room can help it.
  const auto backoff = index_->backoffs.lower_bound({planned_at_ + Duration::millis(1), {}, {}});
  if (backoff != index_->backoffs.end()) consider(std::get<0>(*backoff));
  if (!index_->ready.empty()) {
    const StepKey& head = index_->ready.begin()->second;
    const Time patient_until =
        step_of(state_, head.job, head.step).ready_since + sched::kBackfillPatience;
    if (patient_until > planned_at_) consider(patient_until);
  }
  if (const auto at = suspects_wake(state_, *index_, planned_at_)) consider(*at);
  // These leave with the first input after their time, whatever it is.
  if (!index_->congested.empty()) consider(index_->congested.begin()->first);
  if (!index_->leases.empty()) consider(index_->leases.begin()->first);
  if (!index_->leaving.empty()) consider(index_->leaving.begin()->first);
  if (!index_->returning.empty()) consider(index_->returning.begin()->first);
  // Each decision looks at those that are over; what was asked to end for it takes its grace.
  const auto deadline = index_->deadlines.lower_bound({looked_at_ + Duration::millis(1), {}});
  if (deadline != index_->deadlines.end()) consider(deadline->first);
  if (!index_->keys.empty()) consider(index_->keys.begin()->first + limits_.key_life);
  return earliest;
}

}  // namespace runnel::brain
