#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/grade.h"
#include "search/unit_point.h"

namespace runnel::search {

struct EndedTrial {
  std::int64_t number = 0;
  Grade grade;
  UnitPoint units;
};

// What a sampler remembers of the trials that ended, however many there were: the best ones, and a
// representative sample of the others.
//
// Contract: a function of what was added; the order does not matter. The sample holds those of the
//           others whose number the key ranks lowest, so each is as likely in it as any other
//           (bottom-k sampling: Cohen, Kaplan, "Summarizing data using bottom-k sketches", PODC
//           2007). add() costs O(best_max + log others_max).
class TrialMemory {
 public:
  TrialMemory(std::size_t best_max, std::size_t others_max, std::uint64_t key)
      : best_max_(best_max), others_max_(others_max), key_(key) {}

  void add(EndedTrial trial);
  std::int64_t count() const { return count_; }
  const std::vector<EndedTrial>& best() const { return best_; }  // Best first.
  const std::vector<EndedTrial>& others() const { return others_; }

 private:
  void add_to_others(EndedTrial trial);

  const std::size_t best_max_;
  const std::size_t others_max_;
  const std::uint64_t key_;
  std::int64_t count_ = 0;
  std::vector<EndedTrial> best_;
  std::vector<EndedTrial> others_;  // A heap; the first is the next to go.
};

}  // namespace runnel::search
