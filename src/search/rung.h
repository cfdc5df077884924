#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "search/standing.h"

namespace runnel::search {

// What trials had reached when they came to one step, and which of them wait there to go on.
//
// Contract: of n that entered, the best are the first floor(n / eta); with fewer than eta there are
//           none. Who entered stays and is counted, whatever becomes of it. No more go on from here
//           than there are best, even when better ones keep coming: one that would be too many
//           waits until others have entered (D-ASHA: Li et al., "Hyper-Tune", VLDB 2022).
//           Everything is O(log n).
class Rung {
 public:
  explicit Rung(std::int32_t eta);

  void enter(const Standing& standing);
  std::size_t entered() const { return entered_.size(); }
  bool among_best(const Standing& standing) const;

  // Whether the rung lets one of the best go on now.
  bool has_place() const { return went_on_ < best(); }
  void go_on();
  void wait(const Standing& standing);
  // It waits no longer, if it did.
  void leave(const Standing& standing);
  // The first of those who wait, when it may go on.
  std::optional<Standing> promotable() const;

 private:
  std::size_t best() const { return entered_.size() / eta_; }

  std::size_t eta_;
  std::set<Standing> entered_;
  Standing last_best_;  // Of entered_; means something when best() > 0.
  std::set<Standing> waiting_;
  std::size_t went_on_ = 0;
};

}  // namespace runnel::search
