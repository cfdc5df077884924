#include "model/event.h"

#include <array>

#include "base/check.h"

namespace runnel::model {
namespace {

// In the order of the variant's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<Event>> kEventTypes = {
    "job.submitted", "job.changed",      "step.changed",         "tasks.changed",
    "lane.opened",   "lane.extended",    "lane.closed",          "attempt.running",
    "rank.ended",    "attempt.stopping", "attempt.ended",        "node.joined",
    "node.left",     "job.archived",     "job.deleted",          "key.expired",
    "trial.asked",   "trial.reported",   "trial.parked",         "trial.promoted",
    "trial.told",    "job.halted",       "node.leaving",         "lane.renewed",
    "trial.moved",   "task.warned",      "node.strangers_ended", "runner.crashed",
    "task.cleared",  "search.stopped",   "job.restored",         "node.devices_quarantined"};

struct JobOf {
  template <typename T>
  JobId operator()(const T& event) const {
    if constexpr (requires { event.job; }) {
      return event.job;
    } else if constexpr (requires { event.attempt.task.job; }) {
      return event.attempt.task.job;
    } else {
      return JobId();
    }
  }
};

}  // namespace

std::string_view type_of(const Event& event) {
  CHECK(!event.valueless_by_exception(), "an event holds nothing");
  return kEventTypes[event.index()];
}

bool operator==(const JobSubmitted& a, const JobSubmitted& b) {
  return a.job == b.job && a.project == b.project && a.queue == b.queue && a.owner == b.owner &&
         a.idempotency_key == b.idempotency_key && a.body_hash == b.body_hash &&
         a.actor == b.actor && same_spec(a.spec.get(), b.spec.get());
}

JobId job_of(const Event& event) {
  CHECK(!event.valueless_by_exception(), "an event holds nothing");
  return std::visit(JobOf{}, event);
}

}  // namespace runnel::model
