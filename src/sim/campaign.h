#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/world.h"

namespace runnel::sim {

struct Failure {
  std::uint64_t seed = 0;
  std::string violation;
};

// Many schedules, one after the other.
//
// Contract: add() runs seeds [first, first + count); every kHashEvery-th also hashes its log and
// checks
//           that a replay decides the same. The numbers of two campaigns can be added.
// Threads:  one campaign per process: a broken CHECK is caught through a process-wide hook.
struct Campaign {
  std::int64_t schedules = 0;
  std::int64_t events = 0;
  std::int64_t inputs = 0;
  Coverage coverage{};
  DeviceCounts devices;
  ApartCounts apart{};
  std::vector<Failure> failures;  // At most kFailuresMax; the campaign ends when they are reached.

  // `running` is told each seed before it begins, for those who find us dead.
  void add(std::uint64_t first, std::int64_t count, std::atomic<std::uint64_t>* running = nullptr);
  bool poison_only = false;  // Schedules without a poison task are passed over.
  void merge(const Campaign& other);
};

inline constexpr std::uint64_t kHashEvery = 100;
inline constexpr std::size_t kFailuresMax = 5;

// The table of fault kinds by task statuses, in thousands of tasks met; a zero is a hole.
std::string coverage_table(const Coverage& coverage);
// Seed, broken promise, and the smallest schedule that still breaks it.
std::string report(const Failure& failure);

}  // namespace runnel::sim
