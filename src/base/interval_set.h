#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace runnel {

// A set of non-negative integers kept as disjoint, non-adjacent half-open ranges [begin, end).
//
// Contract: insert/erase of what is/isn't there has no effect; ranges() is sorted.
// Threads:  none of its own; a value type.
// Why:      a step of a million tasks is one range until something happens to one of them, so a
//           submission costs O(1) and a sweep costs O(holes), not O(tasks).
class IntervalSet {
 public:
  using Range = std::pair<std::int64_t, std::int64_t>;

  IntervalSet() = default;
  static IntervalSet of(std::int64_t begin, std::int64_t end);

  void insert(std::int64_t value) { insert(value, value + 1); }
  void insert(std::int64_t begin, std::int64_t end);
  void erase(std::int64_t value) { erase(value, value + 1); }
  void erase(std::int64_t begin, std::int64_t end);

  bool contains(std::int64_t value) const;
  bool empty() const { return ranges_.empty(); }
  std::int64_t size() const { return size_; }
  std::optional<std::int64_t> first() const;
  // The smallest member >= value.
  std::optional<std::int64_t> first_from(std::int64_t value) const;
  // Removes and returns the up to `count` smallest members as ranges.
  std::vector<Range> take(std::int64_t count);
  std::vector<Range> ranges() const { return {ranges_.begin(), ranges_.end()}; }

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // begin -> end
  std::int64_t size_ = 0;
};

}  // namespace runnel
