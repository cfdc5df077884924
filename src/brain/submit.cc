#include <algorithm>
#include <string>

#include "base/check.h"
#include "brain/hosts.h"
#include "brain/turn.h"
#include "brain/wish.h"
#include "sched/place.h"

namespace runnel::brain {
namespace {

using model::Status;

Error too_many(std::string what, std::size_t limit) {
  return Error(Errc::kFull, "the home already has " + std::to_string(limit) + " " + std::move(what))
      .with_hint("wait until some have ended, or cancel them: runnel ps, runnel cancel ID");
}

model::Resources largest(const State& state) {
  model::Resources most;
  for (const auto& [id, node] : state.nodes) {
    if (!node.is_member()) continue;
    most.milli_cpus = std::max(most.milli_cpus, node.info.capacity.milli_cpus);
    most.memory = std::max(most.memory, node.info.capacity.memory);
    for (const auto& [name, count] : node.info.capacity.accelerators) {
      most.accelerators[name] = std::max(most.accelerators[name], count);
    }
  }
  return most;
}

std::optional<Error> can_never_start(const Turn& turn, const model::JobSpec& spec) {
  const State& state = turn.state();
  const sched::Cluster& cluster = turn.index().known;
  const std::size_t members = cluster.hosts().size();
  if (members == 0) return std::nullopt;
  for (const model::StepSpec& step : spec.steps) {
    // A step that is asked for from outside takes no place.
    if (step.is_external() || sched::feasible(lane_of(step), cluster)) continue;
    if (lacks_only_spot(lane_of(step), cluster)) {
      return Error(Errc::kInvalid, "step '" + step.name + "' needs " + step.resources.describe() +
                                       ", and only spot nodes have that")
          .with_field("steps." + step.name + ".resources.spot")
          .with_hint("write spot: true there, if the step can bear to be moved");
    }
    const std::string places = step.num_nodes == 1
                                   ? std::string("one place")
                                   : std::to_string(step.num_nodes) + " places at once, each";
    return Error(Errc::kInvalid,
                 "step '" + step.name + "' needs " + places + " with " + step.resources.describe() +
                     ", and " + std::to_string(members) +
                     " node(s) can never give that; the largest has " + largest(state).describe())
        .with_field("steps." + step.name + ".resources")
        .with_hint(
            "ask for less, or declare larger nodes in nodes.yaml in the home's folder, which "
            "`runnel home` names");
  }
  return std::nullopt;
}

// True when the key was seen before: the turn then holds the answer.
bool answered_before(Turn& turn, const model::Submit& input) {
  if (input.idempotency_key.empty()) return false;
  const auto& keys = turn.state().keys;
  auto seen = keys.find(KeyName::of(input.project, input.actor, input.idempotency_key));
  if (seen == keys.end()) seen = keys.find({{}, {}, input.idempotency_key});
  if (seen == keys.end()) return false;
  if (seen->second.body_hash != input.body_hash) {
    turn.refusal = Error(Errc::kInvalid, "this idempotency key was used for another request")
                       .with_field("Idempotency-Key")
                       .with_value(input.idempotency_key)
                       .with_hint("use a new key for a new request; keys are kept for 24 hours");
    return true;
  }
  turn.answer = seen->second.job;
  turn.repeated = true;
  return true;
}

std::optional<Error> no_room(const State& state) {
  if (state.jobs.size() - state.finished.size() >= kUnfinishedJobsMax) {
    return too_many("unfinished jobs", kUnfinishedJobsMax);
  }
  if (state.keys.size() >= kKeysMax) {
    return Error(Errc::kFull, "more than " + std::to_string(kKeysMax) +
                                  " submissions with an idempotency key in 24 hours")
        .with_hint("submit without Idempotency-Key, or try again later");
  }
  return std::nullopt;
}

}  // namespace

void on_submit(Turn& turn, const model::Submit& input) {
  CHECK(input.spec != nullptr, "a submission without a specification");
  if (answered_before(turn, input)) return;
  if (turn.state().jobs.contains(input.job)) {
    turn.refusal = Error(Errc::kConflict, "the job id is taken").with_value(input.job.str());
    return;
  }
  turn.refusal = no_room(turn.state());
  if (!turn.refusal.has_value()) turn.refusal = can_never_start(turn, *input.spec);
  if (turn.refusal.has_value()) return;
  turn.answer = input.job;
  turn.emit(model::JobSubmitted{input.job, input.project, input.queue, input.owner,
                                input.idempotency_key, input.body_hash, input.spec, input.actor});
  turn.want_plan();
}

}  // namespace runnel::brain
