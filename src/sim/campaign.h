#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world.h"

namespace runnel::sim {

struct Failure {
  std::uint64_t seed = 0;
  std::string violation;
};

// Many schedules, one after the other.
//
// Contract: add() runs seeds [first, first + count); every kAllEvery-th is looked at in all depth.
//           add_in_child() runs them in a process of their own: a CHECK that breaks costs one
//           schedule. The numbers of two campaigns can be added, and sent as text.
struct Campaign {
  std::int64_t schedules = 0;
  std::int64_t events = 0;
  std::int64_t inputs = 0;
  Coverage coverage{};
  DeviceCounts devices;
  QuarantineCounts quarantine;
  ApartCounts apart{};
  ReachCounts reach{};
  std::vector<Failure> failures;  // At most kFailuresMax; the campaign ends when they are reached.

  // `running` is told each seed before it begins, for those who find us dead.
  void add(std::uint64_t first, std::int64_t count, std::atomic<std::uint64_t>* running = nullptr);
  void add_in_child(std::uint64_t first, std::int64_t count);
  bool poison_only = false;  // Schedules without a poison task are passed over.
  void merge(const Campaign& other);
  std::string text() const;
  // Adds what another's text() says. False: it is no such text.
  bool merge_text(std::string_view text);
};

inline constexpr std::uint64_t kAllEvery = 100;
inline constexpr std::size_t kFailuresMax = 5;

// The table of fault kinds by task statuses, in thousands of tasks met; a zero is a hole.
std::string coverage_table(const Coverage& coverage);
// Seed, broken promise, and the smallest schedule that still breaks it.
std::string report(const Failure& failure);

}  // namespace runnel::sim
