#include "sim/minimise.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace runnel::sim {
namespace {

class Minimiser {
 public:
  Minimiser(Scenario scenario, const std::function<bool(const Scenario&)>& breaks, int asked_max)
      : scenario_(std::move(scenario)), breaks_(breaks), left_(asked_max) {}

  Scenario run() {
    bool smaller = true;
    while (smaller) {
      const bool fewer_faults = shrink(&Scenario::faults);
      const bool fewer_wishes = shrink(&Scenario::wishes);
      smaller = fewer_faults || fewer_wishes;
    }
    return std::move(scenario_);
  }

 private:
  template <typename T>
  bool shrink(std::vector<T> Scenario::* list) {
    const std::size_t before = (scenario_.*list).size();
    for (std::size_t part = (before + 1) / 2; part > 0; part /= 2) {
      for (std::size_t at = 0; at < (scenario_.*list).size();) {
        if (!drop(list, at, part)) at += part;
      }
    }
    return (scenario_.*list).size() < before;
  }

  // `count` of the list from `at` on, if it breaks without them, too.
  template <typename T>
  bool drop(std::vector<T> Scenario::* list, std::size_t at, std::size_t count) {
    if (left_-- <= 0) return false;
    Scenario candidate = scenario_;
    const auto begin = (candidate.*list).begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t there = std::min(count, (candidate.*list).size() - at);
    (candidate.*list).erase(begin, begin + static_cast<std::ptrdiff_t>(there));
    if (!breaks_(candidate)) return false;
    scenario_ = std::move(candidate);
    return true;
  }

  Scenario scenario_;
  const std::function<bool(const Scenario&)>& breaks_;
  int left_;
};

}  // namespace

Scenario minimise(Scenario scenario, const std::function<bool(const Scenario&)>& breaks,
                  int asked_max) {
  return Minimiser(std::move(scenario), breaks, asked_max).run();
}

}  // namespace runnel::sim
