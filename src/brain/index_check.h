#pragma once

#include <string>

#include "brain/index.h"
#include "brain/state.h"

namespace runnel::brain {

// Whether an index that followed each event has what the state says: "" or the first part that it
// has otherwise than an index that is built anew. Not looked at: its searchers, which `--verify`
// asks again, and what only finds entries of these parts by their owner.
std::string check_index(const Index& followed, const State& state);

}  // namespace runnel::brain
