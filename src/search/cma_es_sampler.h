#pragma once

#include <memory>

#include "search/sampler.h"

namespace runnel::search {

// CMA-ES over all parameters at once, with restarts: runs of growing populations and of small ones
// in turn (Hansen, "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", GECCO
// workshop 2009). The first run begins at the best of a Latin hypercube.
//
// Ranges and steps are sampled as intervals and rounded; their deviation is kept wide enough to
// reach the next value (the margin of Hamano, Saito, Nomura, Shirakawa, "CMA-ES with margin", GECCO
// 2022, applied when sampling). Choices have a chance per value, learned from the better half of
// each generation (Baluja, "Population-based incremental learning", 1994). A trial ended counts for
// the generation under way, whichever it was asked in, so any number may run at once.
std::unique_ptr<Sampler> make_cma_es_sampler(const SamplerSetup& setup);

}  // namespace runnel::search
