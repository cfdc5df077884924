#pragma once

#include <string>
#include <utility>
#include <vector>

#include "brain/study.h"
#include "model/spec.h"

namespace runnel::brain {

// How much each parameter of a search decides about its first objective, by the trials that ended
// whole: name and share, the largest first. The shares add up to 1; all are 0 while nothing can be
// said. See search/importance.h.
std::vector<std::pair<std::string, double>> importance_of(const model::StepSpec& spec,
                                                          const Study& study);

}  // namespace runnel::brain
