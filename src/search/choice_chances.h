#pragma once

#include <vector>

#include "search/random_stream.h"
#include "search/unit_point.h"

namespace runnel::search {

// The chance of each value of each choice of a space; every axis for itself. Alike at first.
class ChoiceChances {
 public:
  explicit ChoiceChances(const Space& space);

  // NaN on the other axes.
  UnitPoint draw(RandomStream& stream) const;
  // Moves the chances of the point's values towards 1, by a share of `weight`; no value ever loses
  // its last chance.
  void favour(const UnitPoint& units, double weight);

 private:
  std::vector<std::vector<double>> chances_;  // By axis; empty where it is no choice.
};

}  // namespace runnel::search
