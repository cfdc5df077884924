#include "base/interval_set.h"

#include <algorithm>

#include "base/check.h"

namespace runnel {

IntervalSet IntervalSet::of(std::int64_t begin, std::int64_t end) {
  IntervalSet set;
  set.insert(begin, end);
  return set;
}

void IntervalSet::insert(std::int64_t begin, std::int64_t end) {
  CHECK(begin >= 0, "an interval set holds non-negative integers");
  if (begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto left = std::prev(next);
    if (left->second >= begin) next = left;
  }
  while (next != ranges_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    size_ -= next->second - next->first;
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
  size_ += end - begin;
}

void IntervalSet::erase(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) --next;
  while (next != ranges_.end() && next->first < end) {
    const auto [range_begin, range_end] = *next;
    if (range_end <= begin) {
      ++next;
      continue;
    }
    next = ranges_.erase(next);
    size_ -= std::min(end, range_end) - std::max(begin, range_begin);
    if (range_begin < begin) ranges_.emplace_hint(next, range_begin, begin);
    if (end < range_end) next = ranges_.emplace_hint(next, end, range_end);
  }
  CHECK(size_ >= 0, "the size of an interval set covers what was erased");
}

bool IntervalSet::contains(std::int64_t value) const {
  const auto next = ranges_.upper_bound(value);
  return next != ranges_.begin() && value < std::prev(next)->second;
}

std::optional<std::int64_t> IntervalSet::first() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.begin()->first;
}

std::optional<std::int64_t> IntervalSet::first_from(std::int64_t value) const {
  if (contains(value)) return value;
  const auto next = ranges_.lower_bound(value);
  if (next == ranges_.end()) return std::nullopt;
  return next->first;
}

std::vector<IntervalSet::Range> IntervalSet::take(std::int64_t count) {
  std::vector<Range> taken;
  while (count > 0 && !ranges_.empty()) {
    const auto [begin, end] = *ranges_.begin();
    const std::int64_t cut = begin + std::min(count, end - begin);
    erase(begin, cut);
    taken.emplace_back(begin, cut);
    count -= cut - begin;
  }
  return taken;
}

}  // namespace runnel
