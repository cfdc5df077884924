#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "search/unit_point.h"

namespace runnel::search {

// The trials that were asked and not yet told.
class RunningTrials {
 public:
  void add(std::int64_t number, UnitPoint units);
  UnitPoint take(std::int64_t number);
  // The `most` that were asked last.
  std::vector<const UnitPoint*> latest(std::size_t most) const;

 private:
  std::map<std::int64_t, UnitPoint> trials_;
};

}  // namespace runnel::search
