#include "search/trial_memory.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "search/permutation.h"

namespace runnel::search {
namespace {

bool ranks_before(const EndedTrial& a, const EndedTrial& b) {
  CHECK(a.number != b.number, "a trial ended twice");
  return std::tie(a.grade, a.number) < std::tie(b.grade, b.number);
}

}  // namespace

void TrialMemory::add(EndedTrial trial) {
  ++count_;
  const auto place = std::ranges::upper_bound(best_, trial, ranks_before);
  best_.insert(place, std::move(trial));
  if (best_.size() <= best_max_) return;
  EndedTrial last = std::move(best_.back());
  best_.pop_back();
  add_to_others(std::move(last));
}

void TrialMemory::add_to_others(EndedTrial trial) {
  const auto lower = [this](const EndedTrial& a, const EndedTrial& b) {
    return derive(key_, static_cast<std::uint64_t>(a.number)) <
           derive(key_, static_cast<std::uint64_t>(b.number));
  };
  others_.push_back(std::move(trial));
  std::ranges::push_heap(others_, lower);
  if (others_.size() <= others_max_) return;
  std::ranges::pop_heap(others_, lower);
  others_.pop_back();
}

}  // namespace runnel::search
