#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "brain/explain.h"
#include "brain/index.h"
#include "brain/state.h"
#include "sched/request.h"

namespace runnel::brain {

// A step that wants lanes and has not got them all. Borrows.
struct Wish {
  const State& state;
  const Index& index;
  StepKey key;
  sched::Request request;
  Time now;
};

// Why there is no lane for it: reason, message, remedy and blockers. Says in this order whether it
// can start on the nodes that are up at all, whether others come first, and who holds what it
// needs.
void explain_room(const Wish& wish, Wait& wait);

// "1 task", "3 tasks".
std::string counted(std::int64_t count, const std::string& what);

}  // namespace runnel::brain
