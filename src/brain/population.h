#pragma once

#include <cstdint>
#include <optional>

#include "brain/turn.h"
#include "model/refs.h"

// The rules of populations, the searches of method pbt: docs/design/search.md.
namespace runnel::brain {

// After a live member's report was judged: its attempt ends when it is among the worst, to go on
// from one of the best, or when another member has no place.
void steer_member(Turn& turn, const StepKey& key, const model::AttemptRef& attempt);

// An attempt of the task ended. A member that was to go on from another does so only now: whoever
// came to its own end before it was stopped keeps what it has.
void move_member(Turn& turn, const model::TaskRef& task);

// The parked member that runs next: the one that is furthest behind, once no other member waits in
// the queue, so that members take turns.
std::optional<std::int64_t> next_member(const Turn& turn, const StepKey& key);

}  // namespace runnel::brain
