#pragma once

#include "model/spec.h"
#include "sim/dice.h"

namespace runnel::sim {

// The tasks of the step become the trials of a search: of every method, over parameters of every
// kind, with every pruner.
void make_search(Dice& dice, model::StepSpec& step);
// A search whose trials train each other.
void make_population(Dice& dice, model::StepSpec& step);
// Somebody else runs its trials.
void make_outside(model::StepSpec& step);

}  // namespace runnel::sim
