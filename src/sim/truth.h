#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "model/health.h"
#include "model/refs.h"

namespace runnel::sim {

// How often what is said of devices was put to the test.
struct DeviceCounts {
  std::int64_t begun = 0;      // Places that began with devices.
  std::int64_t strangers = 0;  // Ranks that a node told of after it was given up.
};

// What really happened, which nobody in the system knows: the measure of what the system believes.
struct Truth {
  std::set<std::pair<model::AttemptRef, std::int32_t>> started;  // (attempt, rank), anywhere.
  std::map<std::pair<model::AttemptRef, std::int32_t>, std::int32_t> exited;  // By itself, code.
  // The step and the first value that a trial's attempt reported last.
  std::map<model::AttemptRef, std::pair<std::int64_t, std::string>> said;
  std::set<model::AttemptRef> lied_about;  // Nothing can be concluded about these.
  std::set<std::tuple<model::AttemptRef, std::int32_t, model::HealthProblem>> problems;
  DeviceCounts devices;
  std::map<model::TaskRef, std::int64_t> poisoned;  // Attempts lost to poison, that of others.
  std::int64_t beside_poison = 0;                   // The most attempts that ran beside one.
  std::int64_t killed_by_poison = 0;                // Runners.
  std::int64_t parted_inventories = 0;              // That came in several messages,
  std::int64_t parted_reports = 0;                  // and reports that did.
  std::string violation;  // A rank that was started twice, a device that two processes have.
};

}  // namespace runnel::sim
