#pragma once

#include <cstdint>

#include "base/units.h"
#include "brain/index.h"
#include "brain/state.h"
#include "sched/request.h"

// What steps want of the cluster. One reading for those who plan and for
// those who explain, so that an explanation cannot say something else than what was decided.
namespace runnel::brain {

// Tasks of the step that may be bound now; retried ones are counted up to a limit that no plan
// reaches.
std::int64_t waiting_tasks(const State& state, const Index& index, const StepKey& key, Time now);

// One lane of the step, whoever wants it.
sched::Request lane_of(const model::StepSpec& spec);

// The step's wish. lanes_wanted is 0 when only back-offs that are not over are left, or `parallel`
// is reached.
sched::Request request_of(const State& state, const Index& index, const StepKey& key, Time now);

}  // namespace runnel::brain
