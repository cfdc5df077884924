#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "search/sampler.h"

namespace runnel::search {

// How many different points a space has; nothing when they cannot be counted: an interval without a
// step, or more than 2^53.
std::optional<std::int64_t> grid_points(const Space& space);

// All points of a space in a fixed order, the last parameter fastest, as search::draw() has them;
// what a condition leaves out is not repeated.
//
// Contract: grid_points() has a value; after the last point the first one comes again.
std::unique_ptr<Sampler> make_grid_sampler(const SamplerSetup& setup);

}  // namespace runnel::search
