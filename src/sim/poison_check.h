#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "brain/state.h"
#include "model/event.h"
#include "sim/scenario.h"
#include "sim/truth.h"

namespace runnel::sim {

// A program that kills the runner of its node, whenever it runs.
inline constexpr std::string_view kPoison = "/bin/poison";
// As many tasks of the step do that as its command has words: the first ones.
std::int64_t poison_tasks(const std::vector<std::string>& command);
std::int64_t poison_tasks(const model::StepSpec& step);
bool has_poison(const model::StepSpec& step);

// How often a schedule went where tasks are tried apart.
enum class Apart : std::uint8_t {
  kPoisoned,  // Schedules with a poison task,
  kKilled,    // runners killed by one,
  kCrashes,   // crashes that were judged,
  kSuspects,  // tasks suspected,
  kLanes,     // lanes opened for suspects alone,
  kEnded,     // suspects cleared for each reason,
  kOutlived,
  kExplained,
  kUnrelated,
  kFoundOut,  // and poison tasks found out.
};
inline constexpr std::size_t kApartCounts = 10;
using ApartCounts = std::array<std::int64_t, kApartCounts>;
std::string apart_line(const ApartCounts& counts);
ApartCounts count_apart(const Truth& truth, const std::vector<model::Event>& log, bool poisoned);

// No lane is opened beside a suspect that is tried apart, but one of the same crash.
std::string check_apart(const std::vector<model::Event>& events, const brain::State& state);
// At the end: a poison task failed for its own losses, and an innocent one lost no more attempts to
// poison than the bound says and never failed by losses.
std::string check_poison(const Scenario& scenario, const Truth& truth,
                         const std::vector<model::Event>& log);

}  // namespace runnel::sim
