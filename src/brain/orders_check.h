#pragma once

#include <string>

#include "brain/state.h"
#include "model/order.h"

namespace runnel::brain {

// Whether orders leave a node what control still needs of it: "" or what it would lose. A node that
// forgets an attempt tells nothing more of it, so one whose ranks it has on devices that were taken
// from it (State: `strangers`) is not to be forgotten before its end was told. Told apart from the
// Reconciler that makes them, for the simulator.
std::string check_orders(const State& state, const model::NodeOrders& orders);

}  // namespace runnel::brain
