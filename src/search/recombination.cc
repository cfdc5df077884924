#include "search/recombination.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace runnel::search {
namespace {

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// How many equal weights would average as well as these.
double worth(const std::vector<double>& weights) {
  double squares = 0;
  for (const double weight : weights) squares += weight * weight;
  const double sum = sum_of(weights);
  return squares == 0 ? 0 : sum * sum / squares;
}

}  // namespace

Recombination::Recombination(std::size_t axes, std::size_t population) {
  CHECK(population >= 2, "a population of CMA-ES with nobody to compare");
  const auto n = static_cast<double>(std::max<std::size_t>(axes, 1));
  std::vector<double> better;
  std::vector<double> worse;
  for (std::size_t rank = 0; rank < population; ++rank) {
    const double weight = std::log((static_cast<double>(population) + 1) / 2) -
                          std::log(static_cast<double>(rank + 1));
    (rank < population / 2 ? better : worse).push_back(weight);
  }
  effective = worth(better);
  rate_step = (effective + 2) / (n + effective + 5);
  damping_step = 1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (n + 1)) - 1) + rate_step;
  rate_path = (4 + effective / n) / (n + 4 + 2 * effective / n);
  rate_one = 2 / ((n + 1.3) * (n + 1.3) + effective);
  rate_all = std::min(1 - rate_one,
                      2 * (0.25 + effective + 1 / effective - 2) / ((n + 2) * (n + 2) + effective));
  usual_length = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));

  const double effective_worse = worth(worse);
  const double negative =
      std::min({1 + rate_one / rate_all, 1 + 2 * effective_worse / (effective + 2),
                (1 - rate_one - rate_all) / (n * rate_all)});
  const double sum_better = sum_of(better);
  const double sum_worse = std::abs(sum_of(worse));
  for (const double weight : better) weights.push_back(weight / sum_better);
  for (const double weight : worse) {
    weights.push_back(sum_worse == 0 ? 0 : negative * weight / sum_worse);
  }
}

}  // namespace runnel::search
