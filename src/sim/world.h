#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/status.h"
#include "sim/poison_check.h"
#include "sim/quarantine_check.h"
#include "sim/reach.h"
#include "sim/scenario.h"
#include "sim/truth.h"
#include "store/batch.h"

namespace runnel::sim {

// How often a fault of a kind struck while tasks were in a status: what a campaign has tried.
using Coverage = std::array<std::array<std::int64_t, model::kStatusCount>, kFaultKinds>;

struct Verdict {
  std::string violation;   // "" when every promise held.
  std::string log_hash;    // The last batch's, and so of all before: equal for equal seeds.
  std::string state_hash;  // The final state's, for schedules checked in all depth.
  std::int64_t events = 0;
  std::int64_t inputs = 0;
  Coverage coverage{};
  DeviceCounts devices;
  QuarantineCounts quarantine;
  ApartCounts apart{};
  ReachCounts reach{};
};

// Whether what is too slow for every schedule is checked too: explanations, and that the log's text
// decided again leads to the same.
enum class Depth : std::uint8_t { kUsual, kAll };

// Runs one scenario to its end: the shipped control in virtual time over the store's log in memory,
// with simulated nodes, clients, network, disk and clock. Everything is checked as it goes; see
// invariants.h and history.h. `log` is given the batches of the log as it is in the end.
Verdict run(const Scenario& scenario, Depth depth, std::vector<store::Batch>* log = nullptr);

}  // namespace runnel::sim
