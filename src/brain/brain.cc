#include "brain/brain.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "brain/index.h"
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
  void operator()(const model::Wake&) const { turn.want_plan(); }
};

}  // namespace

Brain::Brain(State state)
    : state_(std::move(state)), index_(std::make_unique<Index>(Index::build(state_))) {}
Brain::~Brain() = default;
Brain::Brain(Brain&&) noexcept = default;
Brain& Brain::operator=(Brain&&) noexcept = default;

Decision Brain::decide(const model::Input& input, Time now) {
  Turn turn(state_, *index_, std::max(now, state_.now));
  std::visit(Rules{turn}, input);
  withdraw_crowded(turn);
  settle(turn);
  expire(turn);
  return Decision{turn.take_events(), std::move(turn.refusal), std::move(turn.answer),
                  turn.repeated};
}

void Brain::replay(const std::vector<model::Event>& events, Time now) {
  for (const model::Event& event : events) {
    apply(state_, event, std::max(now, state_.now));
    index_->follow(state_, event);
  }
}

std::optional<Time> Brain::next_wake(Time now) const {
  std::optional<Time> earliest;
  const auto consider = [&](Time at) {
    if (at > now) earliest = earliest.has_value() ? std::min(*earliest, at) : at;
  };
  // What was due before has been looked at by the input at `now`; only room can help it.
  const auto backoff = index_->backoffs.lower_bound({now + Duration::millis(1), {}, {}});
  if (backoff != index_->backoffs.end()) consider(std::get<0>(*backoff));
  if (!index_->crowded.empty()) consider(index_->crowded.begin()->first);
  if (!index_->keys.empty()) consider(index_->keys.begin()->first + kKeyLife);
  if (!index_->ready.empty()) {
    const StepKey& head = index_->ready.begin()->second;
    consider(step_of(state_, head.job, head.step).ready_since + sched::kBackfillPatience);
  }
  return earliest;
}

}  // namespace runnel::brain
