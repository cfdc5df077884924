#include "model/cost.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/check.h"
#include "base/muldiv.h"

namespace runnel::model {
namespace {

constexpr std::int64_t kWhole = 1'000'000'000;  // Parts of a node.
constexpr std::int64_t kNanosPerMicro = 1'000;
constexpr std::int64_t kNanosPerDollar = 1'000'000'000;
constexpr std::int64_t kMillisPerHour = 3'600'000;

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
  const bool cheap = node.spot && node.spot_price_micros > 0;
  const std::int64_t list = std::max(node.price_micros, cheap ? node.spot_price_micros : 0);
  const std::int64_t paid = cheap ? node.spot_price_micros : list;
  const std::int64_t part = largest_part(held, node.capacity);
  return {muldiv(paid * kNanosPerMicro, part, kWhole), muldiv(list * kNanosPerMicro, part, kWhole)};
}

Cost cost_of(const Rate& rate, Duration length) {
  const std::int64_t millis = std::max<std::int64_t>(0, length.millis());
  return {muldiv(rate.paid, millis, kMillisPerHour), muldiv(rate.list, millis, kMillisPerHour)};
}

std::string dollars(std::int64_t nanos) {
  CHECK(nanos >= 0, "a cost below nothing");
  std::string micros = std::to_string(nanos % kNanosPerDollar / kNanosPerMicro);
  micros.insert(0, 6 - micros.size(), '0');
  return std::to_string(nanos / kNanosPerDollar) + "." + micros;
}

const InstanceType* cheapest_for(const std::vector<InstanceType>& types, const Resources& amount) {
  const InstanceType* best = nullptr;
  for (const InstanceType& type : types) {
    if (!amount.fits_in(type.capacity)) continue;
    const bool better = best == nullptr || std::tie(type.price_micros, type.name) <
                                               std::tie(best->price_micros, best->name);
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
  node.price_micros = type->price_micros;
  node.spot_price_micros = type->spot_price_micros;
}

}  // namespace runnel::model
