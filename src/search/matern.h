#pragma once

namespace runnel::search {

// The kernel Matern 5/2 at a squared distance, and how it falls with it: -2 dk/d(distance^2).
struct Matern {
  double value = 0;
  double fall = 0;
};

Matern matern(double squared_distance);

}  // namespace runnel::search
