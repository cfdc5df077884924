#include "brain/wish.h"

#include <algorithm>

#include "brain/places.h"

namespace runnel::brain {
namespace {

// Retried tasks are counted no further than this: more than one plan can place anyway.
constexpr std::int64_t kCountedAgainMax = 1'024;

}  // namespace

std::int64_t waiting_tasks(const State& state, const Index& index, const StepKey& key, Time now) {
  std::int64_t count = fresh_tasks(step_of(state, key.job, key.step));
  const auto again = index.again.find(key);
  if (again == index.again.end()) return count;
  std::int64_t looked_at = 0;
  for (const auto& [not_before, task] : again->second) {
    if (not_before > now || ++looked_at > kCountedAgainMax) break;
    ++count;
  }
  return count;
}

sched::Request lane_of(const model::StepSpec& spec) {
  sched::Request request;
  request.places = spec.num_nodes;
  request.per_place = spec.resources;
  request.cpu_share = spec.whole_node ? sched::CpuShare::kWholeHost : sched::CpuShare::kAsAsked;
  request.spot_use = spec.spot ? sched::SpotUse::kPreferred : sched::SpotUse::kNever;
  return request;
}

sched::Request request_of(const State& state, const Index& index, const StepKey& key, Time now) {
  const model::StepSpec& spec = spec_of(state, key.job, key.step);
  const Step& step = step_of(state, key.job, key.step);
  sched::Request request = lane_of(spec);
  request.key = queue_key(state.jobs.at(key.job), key.step);
  request.lanes_wanted = waiting_tasks(state, index, key, now);
  if (spec.parallel.has_value()) {
    request.lanes_wanted = std::min(request.lanes_wanted, *spec.parallel - step.lanes);
  }
  request.waiting_since = step.ready_since;
  request.limit = limit_of(spec);
  return request;
}

}  // namespace runnel::brain
