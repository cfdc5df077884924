#include "model/cost.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/check.h"
#include "base/muldiv.h"

namespace runnel::model {
namespace {

constexpr std::int64_t kWhole = 1'000'000'000;  // Parts of a node.
constexpr std::int64_t kMillisPerHour = 3'600'000;

Money share_of(Money amount, std::int64_t part, std::int64_t whole) {
  return Money::nanos(muldiv(amount.nanos(), part, whole));
}

std::int64_t part_of(std::int64_t held, std::int64_t all) {
  return all <= 0 ? 0 : muldiv(held, kWhole, all);
}

std::int64_t largest_part(const Resources& held, const Resources& all) {
  std::int64_t part = std::max(part_of(held.milli_cpus, all.milli_cpus),
                               part_of(held.memory.count(), all.memory.count()));
  for (const auto& [name, count] : held.accelerators) {
    const auto found = all.accelerators.find(name);
    if (found != all.accelerators.end()) part = std::max(part, part_of(count, found->second));
  }
  return std::min(part, kWhole);
}

}  // namespace

Rate operator+(const Rate& a, const Rate& b) { return {a.paid + b.paid, a.list + b.list}; }

Rate operator-(const Rate& a, const Rate& b) {
  CHECK(a.paid >= b.paid && a.list >= b.list, "a rate below nothing");
  return {a.paid - b.paid, a.list - b.list};
}

Cost operator+(const Cost& a, const Cost& b) { return {a.paid + b.paid, a.list + b.list}; }

Rate rate_of(const NodeInfo& node, const Resources& held) {
  const bool cheap = node.spot && !node.spot_price.is_zero();
  const Money list = cheap ? std::max(node.price, node.spot_price) : node.price;
  const Money paid = cheap ? node.spot_price : list;
  const std::int64_t part = largest_part(held, node.capacity);
  return {share_of(paid, part, kWhole), share_of(list, part, kWhole)};
}

Cost cost_of(const Rate& rate, Duration length) {
  const std::int64_t millis = std::max<std::int64_t>(0, length.millis());
  return {share_of(rate.paid, millis, kMillisPerHour), share_of(rate.list, millis, kMillisPerHour)};
}

const InstanceType* cheapest_for(const std::vector<InstanceType>& types, const Resources& amount) {
  const InstanceType* best = nullptr;
  for (const InstanceType& type : types) {
    if (!amount.fits_in(type.capacity)) continue;
    const bool better =
        best == nullptr || std::tie(type.price, type.name) < std::tie(best->price, best->name);
    if (better) best = &type;
  }
  return best;
}

void price_as(NodeInfo& node, const std::vector<InstanceType>& types) {
  const auto named = std::find_if(types.begin(), types.end(), [&](const InstanceType& type) {
    return type.name == node.instance;
  });
  const InstanceType* type =
      named == types.end() ? cheapest_for(types, node.capacity) : std::to_address(named);
  if (type == nullptr) return;
  node.instance = type->name;
  node.price = type->price;
  node.spot_price = type->spot_price;
}

}  // namespace runnel::model
