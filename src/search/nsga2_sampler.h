#pragma once

#include <memory>

#include "search/sampler.h"

namespace runnel::search {

// NSGA-II for several objectives (Deb, Pratap, Agarwal, Meyarivan, "A fast and elitist
// multiobjective genetic algorithm: NSGA-II", IEEE Transactions on Evolutionary Computation 2002):
// parents by front and crowding, simulated binary crossover, polynomial mutation. In its
// steady-state form (Durillo, Nebro, Luna, Alba, "On the effect of the steady-state selection
// scheme in multi-objective genetic algorithms", EMO 2009): whoever ends joins the population, and
// the worst of it leaves, so any number of trials may run at once. The first population is a Latin
// hypercube.
std::unique_ptr<Sampler> make_nsga2_sampler(const SamplerSetup& setup);

}  // namespace runnel::search
