#pragma once

#include <memory>

#include "search/sampler.h"

namespace runnel::search {

// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kegl, "Algorithms for
// hyper-parameter optimization", NIPS 2011, section 4), with joint densities over all parameters
// (Falkner, Klein, Hutter, "BOHB", ICML 2018, section 3.2): of points drawn from the density of the
// good trials, the one with the highest ratio to the density of the others.
//
// Good are the best tenth, at most 25. Of the others a sample stands for all, so a suggestion costs
// the same at the hundred-thousandth trial. Running trials count among the others (the constant
// liar: Ginsbourger, Le Riche, Carraro 2010), so parallel suggestions spread. The first trials are
// a Latin hypercube.
std::unique_ptr<Sampler> make_tpe_sampler(const SamplerSetup& setup);

}  // namespace runnel::search
