#pragma once

#include <cstddef>
#include <vector>

namespace runnel::search {

// The constants of CMA-ES for a number of axes and a population: Hansen's tutorial, table 1.
struct Recombination {
  Recombination(std::size_t axes, std::size_t population);

  std::vector<double> weights;  // By rank; the positive ones sum to 1, the others are negative.
  double effective = 0;         // How many samples the positive weights are worth.
  double rate_step = 0;         // c_sigma
  double damping_step = 0;      // d_sigma
  double rate_path = 0;         // c_c
  double rate_one = 0;          // c_1
  double rate_all = 0;          // c_mu
  double usual_length = 0;      // The expected norm of a normal vector.
};

}  // namespace runnel::search
