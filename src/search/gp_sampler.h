#pragma once

#include <memory>

#include "search/sampler.h"

namespace runnel::search {

// Bayesian optimisation with a Gaussian process and the expected improvement (Jones, Schonlau,
// Welch, "Efficient global optimization of expensive black-box functions", 1998).
//
// The process knows at most 200 trials: the best 100, and a sample of the others. What was pruned
// counts as the median of what was complete, at best; what failed, as the worst. Running trials are
// taken for what the process believes of them (Ginsbourger, Le Riche, Carraro, "Kriging is
// well-suited to parallelize optimization", 2010, section 4.3). told() fits the kernel anew when
// there is a tenth more to know, and beyond the cap, each time the trials have doubled.
std::unique_ptr<Sampler> make_gp_sampler(const SamplerSetup& setup);

}  // namespace runnel::search
