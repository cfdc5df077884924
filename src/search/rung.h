#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "search/standing.h"

namespace runnel::search {

// What trials had reached when they came to one step, and which of them wait there to go on.
//
// Contract: of n that entered, the best are the first floor(n / eta) and those that equal the last
//           of them; with fewer than eta there are none. Who entered stays and is counted, whatever
//           becomes of it. Everything is O(log n).
class Rung {
 public:
  explicit Rung(std::int32_t eta);

  void enter(const Standing& standing);
  bool among_best(const Standing& standing) const;

  // Whether none that entered has a better value.
  bool is_first(const Standing& standing) const {
    return !(entered_.begin()->value < standing.value);
  }

  void wait(const Standing& standing);
  // It waits no longer, if it did.
  void leave(const Standing& standing);
  // The first of those who wait.
  std::optional<Standing> first_waiting() const;
  // The same, when it is among the best.
  std::optional<Standing> promotable() const;

 private:
  std::size_t best() const { return entered_.size() / eta_; }

  std::size_t eta_;
  std::set<Standing> entered_;
  Standing last_best_;  // The last of the best in entered_; means something when best() > 0.
  std::set<Standing> waiting_;
};

}  // namespace runnel::search
