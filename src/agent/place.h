#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/phases/phase.h"
#include "base/result.h"
#include "model/order.h"
#include "runner/message.h"

namespace runnel::agent {

// What a home adds to the orders of its nodes.
struct PlaceContext {
  std::vector<std::string> inherited;  // Variables of tasks where nobody says otherwise.
  std::string python_path;             // A path where a task's Python finds our package; "": none.
};

// The ranks of an order that is ready, as its node's runner starts them. kInvalid when that cannot
// be done, now or later.
Result<runner::PlaceStart> place_of(const PlaceContext& context, const NodeId& node,
                                    const model::StartOrder& order, const Readiness& ready);

// A checkpoint folder as an order names it, below its task's: the usual one when it names none.
std::string checkpoint_dir(std::string_view named);

// About what it takes in memory, and in a frame.
std::size_t bytes_of(const runner::PlaceStart& place);

}  // namespace runnel::agent
