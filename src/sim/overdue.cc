#include "sim/overdue.h"

#include <set>
#include <variant>

#include "base/check.h"
#include "brain/brain.h"
#include "brain/index.h"
#include "sim/any_task.h"

namespace runnel::sim {
namespace {

using model::Status;

// What has been due for long enough that somebody must have looked at it.
struct Overdue {
  std::set<model::TaskRef> retries;
  std::set<LaneId> congested;
  std::set<LaneId> silent;  // The lanes whose holder should have been given up.
};

void add_retries(const brain::Job& job, StepIndex index, Time due, Overdue& overdue) {
  const brain::Step& step = job.steps[static_cast<std::size_t>(index.value())];
  if (brain::count_of(step.counts, Status::kRecovering) == 0) return;
  for (const auto& [task, kept] : step.tasks) {
    if (kept.status != Status::kRecovering || kept.not_before > due) continue;
    if (kept.suspicion && kept.suspicion->turn > 0) continue;  // Others are tried before.
    overdue.retries.insert(model::TaskRef{job.id, index, task});
  }
}

// Whether the next attempt of one who is tried apart became due between these.
bool suspects_due(const brain::State& state, Time since, Time now) {
  return any_task(state, [&](const brain::Task& task) {
    return task.suspicion && task.not_before > since && task.not_before <= now;
  });
}

Overdue overdue_at(const brain::State& state, Time due, Time now) {
  Overdue overdue;
  for (const auto& [id, job] : state.jobs) {
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      add_retries(job, StepIndex(static_cast<std::int32_t>(step)), due, overdue);
    }
  }
  for (const auto& [id, lane] : state.lanes) {
    const bool congested = lane.queue.size() > 1 && lane.progress_at + brain::kAheadPatience <= due;
    if (congested) overdue.congested.insert(id);
    const model::Lease* lease = lane.lease();
    if (lease != nullptr && lane.progress_at + lease->length <= due) overdue.silent.insert(id);
  }
  // The retries that they had room kept for are due with them.
  if (suspects_due(state, due, now)) overdue.retries.clear();
  return overdue;
}

// The overdue work that the event of a Wake acts upon; "" when there is none.
std::string acts_on(const model::Event& event, const Overdue& overdue) {
  if (const auto* stopping = std::get_if<model::AttemptStopping>(&event)) {
    if (!overdue.congested.contains(stopping->lane)) return "";
    return "attempt " + model::to_string(stopping->attempt) + " should have been withdrawn";
  }
  if (const auto* ended = std::get_if<model::AttemptEnded>(&event)) {
    if (!overdue.silent.contains(ended->lane)) return "";
    return "attempt " + model::to_string(ended->attempt) + " should have been given up";
  }
  const auto* bound = std::get_if<model::LaneExtended>(&event);
  if (bound == nullptr) return "";
  for (const model::LaneTask& task : bound->tasks) {
    const model::TaskRef ref{bound->job, bound->step, task.index};
    if (!overdue.retries.contains(ref)) continue;
    return "task " + model::to_string(ref) + " should have been tried";
  }
  return "";
}

}  // namespace

std::string check_nothing_overdue(const brain::State& state, Time now, Duration slack) {
  CHECK(slack > Duration(), "nobody can look at something in the moment it becomes due");
  for (const auto& [id, node] : state.nodes) {
    for (const model::QuarantinedDevice& device : node.quarantined) {
      if (device.again_at == Time() || device.again_at + slack > now) continue;
      return "a device of " + id.str() + " is back and should be granted again by now";
    }
  }
  const Overdue overdue = overdue_at(state, now - slack, now);
  if (overdue.retries.empty() && overdue.congested.empty() && overdue.silent.empty()) return "";
  brain::Brain probe(state);  // Rarely needed: a copy is not cheap.
  for (const model::Event& event : probe.decide(model::Wake{}, now).events) {
    if (std::string late = acts_on(event, overdue); !late.empty()) return late + " by now";
  }
  return "";
}

}  // namespace runnel::sim
