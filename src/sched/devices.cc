#include "sched/devices.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace runnel::sched {
namespace {

// The free ranges between those that are held.
std::vector<IntervalSet::Range> gaps(const IntervalSet& held, std::int64_t all) {
  std::vector<IntervalSet::Range> free;
  std::int64_t from = 0;
  for (const auto& [begin, end] : held.ranges()) {
    if (from < std::min(begin, all)) free.emplace_back(from, std::min(begin, all));
    from = end;
  }
  if (from < all) free.emplace_back(from, all);
  return free;
}

}  // namespace

IntervalSet pick_indices(const IntervalSet& held, std::int64_t all, std::int64_t count) {
  CHECK(count >= 0, "fewer than no devices are wanted");
  const std::vector<IntervalSet::Range> free = gaps(held, all);
  for (const auto& [begin, end] : free) {
    if (end - begin >= count) return IntervalSet::of(begin, begin + count);
  }
  IntervalSet picked;
  for (const auto& [begin, end] : free) {
    picked.insert(begin, std::min(end, begin + count - picked.size()));
  }
  CHECK(picked.size() == count, "more devices are granted than are free");
  return picked;
}

model::Devices pick_devices(const model::Devices& held, const model::Resources& capacity,
                            const model::Resources& wanted) {
  model::Devices picked;
  for (const auto& [kind, count] : wanted.accelerators) {
    if (count == 0) continue;
    const auto all = capacity.accelerators.find(kind);
    CHECK(all != capacity.accelerators.end(), "devices are granted of a kind that is not there");
    const auto taken = held.find(kind);
    picked[kind] =
        pick_indices(taken == held.end() ? IntervalSet() : taken->second, all->second, count);
  }
  return picked;
}

}  // namespace runnel::sched
