#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::model {

// An amount of machine: what a node has, what a rank asks for, what is free.
//
// Contract: amounts are never negative; subtract() CHECKs it. CPUs are thousandths of a core,
//           memory is bytes, accelerators are whole devices by name ("H100").
struct Resources {
  std::int64_t milli_cpus = 0;
  Bytes memory;
  std::map<std::string, std::int64_t> accelerators;

  // Whether `this` can be taken out of `free`.
  bool fits_in(const Resources& free) const;
  // How many times `this` fits into `free`, at most `limit`; `limit` when this asks for nothing.
  std::int64_t times_in(const Resources& free, std::int64_t limit) const;
  // An amount beyond 64 bits stays at their most, which fits in nothing.
  Resources times(std::int64_t factor) const;
  // The part of this that exceeds `other`; nothing where it does not.
  Resources beyond(const Resources& other) const;
  void add(const Resources& other);
  void subtract(const Resources& other);

  // "2 cpus, 4 GiB, 1 H100": for people.
  std::string describe() const;

  friend bool operator==(const Resources&, const Resources&) = default;
};

// The most that one place may have. With these, no sum over kNodesMax nodes nor product with
// kRanksPerTaskMax places leaves 64 bits.
inline constexpr std::int64_t kMilliCpusMax = 1'000'000'000;
inline constexpr Bytes kMemoryMax = Bytes::gibi(65'536);
inline constexpr std::int64_t kAcceleratorsMax = 1'000'000;
// Whether each amount is within these: kInvalid naming the field.
Result<void> check_resources(const Resources& resources);

}  // namespace runnel::model
