#include "search/restarts.h"

#include <algorithm>
#include <cmath>

namespace runnel::search {

void Restarts::next(std::int64_t samples, RandomStream& stream) {
  // The first run counts for neither regime.
  if (count_++ > 0) (small_now_ ? small_cost_ : large_cost_) += samples;
  small_now_ = small_cost_ < large_cost_;
  if (!small_now_) {
    large_ = std::min(2 * large_, kLargestFactor);
    population_ = first_ * large_;
    step_ = 1;
    return;
  }
  const double share = stream.uniform();
  const double factor = std::pow(static_cast<double>(large_) / 2, share * share);
  population_ = static_cast<std::size_t>(static_cast<double>(first_) * factor);
  step_ = std::pow(10, -2 * stream.uniform());
}

}  // namespace runnel::search
