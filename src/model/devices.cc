#include "model/devices.h"

#include <algorithm>

#include "base/check.h"

namespace runnel::model {

Devices part_of(const Devices& devices, std::int64_t index, std::int64_t parts) {
  CHECK(parts > 0, "devices are shared by no places");
  CHECK(index >= 0, "a place before the first");
  CHECK(index < parts, "a place after the last");
  Devices part;
  for (const auto& [kind, all] : devices) {
    CHECK(all.size() % parts == 0, "the places of a gang have the same number of devices");
    const std::int64_t each = all.size() / parts;
    IntervalSet rest = all;
    (void)rest.take(index * each);
    for (const auto& [begin, end] : rest.take(each)) part[kind].insert(begin, end);
  }
  return part;
}

bool covers(const Devices& devices, const Resources& amount) {
  return std::all_of(amount.accelerators.begin(), amount.accelerators.end(), [&](const auto& each) {
    CHECK(each.second >= 0, "fewer than no devices are asked for");
    const auto held = devices.find(each.first);
    return (held == devices.end() ? 0 : held->second.size()) == each.second;
  });
}

bool are_within(const Devices& devices, const Resources& capacity) {
  return std::all_of(devices.begin(), devices.end(), [&](const auto& each) {
    const auto all = capacity.accelerators.find(each.first);
    const std::int64_t count = all == capacity.accelerators.end() ? 0 : all->second;
    CHECK(count >= 0, "a node with fewer than no devices");
    return !each.second.first_from(count).has_value();
  });
}

Resources amount_of(const Devices& devices) {
  Resources amount;
  for (const auto& [kind, set] : devices) amount.accelerators[kind] = set.size();
  return amount;
}

bool overlap(const Devices& a, const Devices& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& each) {
    const auto other = b.find(each.first);
    if (other == b.end()) return false;
    for (const auto& [begin, end] : other->second.ranges()) {
      const auto first = each.second.first_from(begin);
      if (first && *first < end) return true;
    }
    return false;
  });
}

void insert(Devices& into, const Devices& devices) {
  for (const auto& [kind, set] : devices) {
    CHECK(!set.empty(), "a kind of which there is none has no entry");
    for (const auto& [begin, end] : set.ranges()) into[kind].insert(begin, end);
  }
}

void erase(Devices& from, const Devices& devices) {
  for (const auto& [kind, set] : devices) {
    const auto found = from.find(kind);
    if (found == from.end()) continue;
    for (const auto& [begin, end] : set.ranges()) found->second.erase(begin, end);
    if (found->second.empty()) from.erase(found);
  }
}

std::string describe(const Devices& devices) {
  std::string text;
  for (const auto& [kind, set] : devices) {
    CHECK(!set.empty(), "a kind of which there is none has no entry");
    text += (text.empty() ? "" : " ") + kind + ":";
    bool first = true;
    for (const auto& [begin, end] : set.ranges()) {
      for (std::int64_t index = begin; index < end; ++index) {
        text += (first ? "" : ",") + std::to_string(index);
        first = false;
      }
    }
  }
  return text;
}

}  // namespace runnel::model
