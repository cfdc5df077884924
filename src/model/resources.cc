#include "model/resources.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace runnel::model {
namespace {

constexpr std::int64_t kAmountMax = std::numeric_limits<std::int64_t>::max();

// Stays at the most that 64 bits hold: a user may ask for any number of anything.
std::int64_t product(std::int64_t amount, std::int64_t factor) {
  CHECK(amount >= 0, "an amount is negative");
  if (factor != 0 && amount > kAmountMax / factor) return kAmountMax;
  return amount * factor;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  CHECK(b >= 0, "adding a negative amount");
  CHECK(a <= kAmountMax - b, "an amount of resources is beyond all limits");
  return a + b;
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  CHECK(b >= 0, "taking a negative amount");
  CHECK(a >= b, "taking more than there is");
  return a - b;
}

std::int64_t count_of(const std::map<std::string, std::int64_t>& accelerators,
                      const std::string& name) {
  const auto found = accelerators.find(name);
  return found == accelerators.end() ? 0 : found->second;
}

// How often `amount` is in `free`, at most `limit`.
std::int64_t quotient(std::int64_t amount, std::int64_t free, std::int64_t limit) {
  CHECK(amount >= 0, "an amount is negative");
  return amount == 0 ? limit : std::min(limit, std::max<std::int64_t>(free, 0) / amount);
}

// "2", "0.5", "1.25": thousandths without trailing zeros.
std::string cpus_text(std::int64_t milli) {
  CHECK(milli >= 0, "an amount is negative");
  std::string out = std::to_string(milli / 1000);
  if (milli % 1000 == 0) return out;
  std::string fraction = std::to_string(1000 + milli % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return out + "." + fraction;
}

Result<void> check_amount(const std::string& field, std::int64_t amount, std::int64_t min,
                          std::int64_t max) {
  if (amount >= min && amount <= max) return {};
  Error error(Errc::kInvalid,
              "this must be from " + std::to_string(min) + " to " + std::to_string(max));
  return error.with_field(field).with_value(std::to_string(amount));
}

}  // namespace

Result<void> check_resources(const Resources& resources) {
  TRY(check_amount("milli_cpus", resources.milli_cpus, 0, kMilliCpusMax));
  TRY(check_amount("memory", resources.memory.count(), 0, kMemoryMax.count()));
  for (const auto& [name, count] : resources.accelerators) {
    TRY(check_amount("accelerators." + name, count, 0, kAcceleratorsMax));
  }
  return {};
}

bool Resources::fits_in(const Resources& free) const {
  if (milli_cpus > free.milli_cpus || memory > free.memory) return false;
  return std::all_of(accelerators.begin(), accelerators.end(), [&](const auto& wanted) {
    return wanted.second <= count_of(free.accelerators, wanted.first);
  });
}

std::int64_t Resources::times_in(const Resources& free, std::int64_t limit) const {
  CHECK(limit >= 0, "a negative limit");
  std::int64_t times = quotient(milli_cpus, free.milli_cpus, limit);
  times = quotient(memory.count(), free.memory.count(), times);
  for (const auto& [name, count] : accelerators) {
    times = quotient(count, count_of(free.accelerators, name), times);
  }
  return times;
}

Resources Resources::times(std::int64_t factor) const {
  CHECK(factor >= 0, "a negative number of times");
  Resources out;
  out.milli_cpus = product(milli_cpus, factor);
  out.memory = Bytes::count(product(memory.count(), factor));
  for (const auto& [name, count] : accelerators) {
    if (const std::int64_t total = product(count, factor); total != 0)
      out.accelerators[name] = total;
  }
  return out;
}

Resources Resources::beyond(const Resources& other) const {
  Resources out;
  out.milli_cpus = std::max<std::int64_t>(0, milli_cpus - other.milli_cpus);
  out.memory = Bytes::count(std::max<std::int64_t>(0, memory.count() - other.memory.count()));
  for (const auto& [name, count] : accelerators) {
    const std::int64_t more = count - count_of(other.accelerators, name);
    if (more > 0) out.accelerators[name] = more;
  }
  return out;
}

// A kind of accelerator of which there is none has no entry, so that equal amounts compare equal
// whatever way they were reached.
void Resources::add(const Resources& other) {
  milli_cpus = sum(milli_cpus, other.milli_cpus);
  memory = Bytes::count(sum(memory.count(), other.memory.count()));
  for (const auto& [name, count] : other.accelerators) {
    if (count == 0) continue;
    std::int64_t& mine = accelerators[name];
    mine = sum(mine, count);
  }
}

void Resources::subtract(const Resources& other) {
  milli_cpus = difference(milli_cpus, other.milli_cpus);
  memory = Bytes::count(difference(memory.count(), other.memory.count()));
  for (const auto& [name, count] : other.accelerators) {
    if (count == 0) continue;
    const auto mine = accelerators.find(name);
    CHECK(mine != accelerators.end(), "taking an accelerator that is not there");
    mine->second = difference(mine->second, count);
    if (mine->second == 0) accelerators.erase(mine);
  }
}

std::string Resources::describe() const {
  std::string out;
  const auto add_part = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (milli_cpus != 0) add_part(cpus_text(milli_cpus) + (milli_cpus == 1000 ? " cpu" : " cpus"));
  if (!memory.is_zero()) add_part(human(memory));
  for (const auto& [name, count] : accelerators) {
    if (count != 0) add_part(std::to_string(count) + " " + name);
  }
  return out.empty() ? "nothing" : out;
}

}  // namespace runnel::model
