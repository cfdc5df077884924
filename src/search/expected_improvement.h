#pragma once

namespace runnel::search {

// The logarithm of the expected improvement of a normal belief below a level, in deviations, and
// its derivative: log(phi(z) + z Phi(z)), accurate where the improvement itself has long become
// zero (Ament, Daulton, Eriksson, Balandat, Bakshy, "Unexpected improvements to expected
// improvement for Bayesian optimization", NeurIPS 2023, section 4.1).
struct LogImprovement {
  double value = 0;
  double slope = 0;
};

LogImprovement log_improvement(double deviations);

}  // namespace runnel::search
