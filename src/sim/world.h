#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/status.h"
#include "sim/node.h"
#include "sim/poison_check.h"
#include "sim/scenario.h"

namespace runnel::sim {

// How often a fault of a kind struck while tasks were in a status: what a campaign has tried.
using Coverage = std::array<std::array<std::int64_t, model::kStatusCount>, kFaultKinds>;

struct Verdict {
  std::string violation;  // "" when every promise held.
  std::string log_hash;   // Of the events' canonical text: equal for equal seeds, on any machine.
  std::int64_t events = 0;
  std::int64_t inputs = 0;
  Coverage coverage{};
  DeviceCounts devices;
  ApartCounts apart{};
};

// Whether the log's canonical text is hashed (slower) or only its events counted.
enum class Hashing : std::uint8_t { kOff, kOn };

// Runs one scenario to its end: the real brain and order book with simulated daemon, nodes,
// clients, network, disk and clock. Everything is checked as it goes; see invariants.h and
// history.h.
Verdict run(const Scenario& scenario, Hashing hashing);

// The same scenario with as few faults and wishes as still break a promise (greedy removal).
Scenario minimise(Scenario scenario);

}  // namespace runnel::sim
