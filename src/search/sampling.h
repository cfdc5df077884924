#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/spec.h"

namespace runnel::search {

// The number of distinct combinations of a step's discrete parameters (1 when it has none).
// kInvalid when it is more than model::kTasksPerStepMax: such a step needs `samples`.
Result<std::int64_t> grid_size(const std::vector<model::Parameter>& params);

// The parameter values of one task, in the spec's order.
//
// Discrete parameters: without `samples` the task's index enumerates the grid, last parameter
// fastest. With `samples`, draw k is cell p(k mod n) of the n cells, p a pseudo-random permutation
// that changes every n draws: all cells are covered before one repeats, and the parameter sets of a
// million tasks need no memory. p is an 8-round Feistel network with cycle walking (Black and
// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, section 3). Grids of more than
// 2^62 cells are permuted in parts, and a range of more than 2^62 integers is drawn from 2^62 of
// them, evenly spaced. Continuous parameters: an independent draw per task, stratified over
// `samples` equal slices in a permuted order (Latin hypercube: McKay, Beckman, Conover 1979), 53
// bits, printed as the shortest decimal text that reads back the same.
//
// Contract: the spec was checked (model::check or spec::). O(parameters), whatever their ranges.
//           The same arguments give the same texts in every build; loguniform rests on the
//           platform's log and exp, so its last digit is promised for one machine only, and the log
//           keeps what was drawn.
std::vector<std::pair<std::string, std::string>> draw(const model::StepSpec& step,
                                                      std::int64_t seed, StepIndex step_index,
                                                      TaskIndex task);

}  // namespace runnel::search
