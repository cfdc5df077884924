#include "search/matern.h"

#include <cmath>

namespace runnel::search {

Matern matern(double squared_distance) {
  const double r = std::sqrt(5 * squared_distance);
  const double decay = std::exp(-r);
  return {(1 + r + r * r / 3) * decay, 5.0 / 3 * (1 + r) * decay};
}

}  // namespace runnel::search
