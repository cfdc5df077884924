#include "sim/campaign.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "model/status.h"

namespace runnel::sim {
namespace {

// The statuses a task can have in this version.
constexpr std::array kShown = {model::Status::kQueued,     model::Status::kStarting,
                               model::Status::kRunning,    model::Status::kPaused,
                               model::Status::kRecovering, model::Status::kSucceeded,
                               model::Status::kFailed,     model::Status::kCancelled,
                               model::Status::kSkipped,    model::Status::kTimeout};

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  if (cell.size() < width) cell.insert(0, width - cell.size(), ' ');
  return cell;
}

}  // namespace

void Campaign::add(std::uint64_t first, std::int64_t count, std::atomic<std::uint64_t>* running) {
  CHECK(count >= 0, "fewer than no schedules");
  for (std::int64_t each = 0; each < count && failures.size() < kFailuresMax; ++each) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(each);
    if (running != nullptr) *running = seed;
    const Hashing hashing = seed % kHashEvery == 0 ? Hashing::kOn : Hashing::kOff;
    const Scenario scenario = scenario_of(seed);
    if (poison_only && !scenario.poisoned()) continue;
    const Verdict verdict = run(scenario, hashing);
    ++schedules;
    events += verdict.events;
    inputs += verdict.inputs;
    devices.begun += verdict.devices.begun;
    devices.strangers += verdict.devices.strangers;
    for (std::size_t what = 0; what < apart.size(); ++what) apart[what] += verdict.apart[what];
    for (std::size_t kind = 0; kind < coverage.size(); ++kind) {
      for (std::size_t status = 0; status < coverage[kind].size(); ++status) {
        coverage[kind][status] += verdict.coverage[kind][status];
      }
    }
    if (!verdict.violation.empty()) failures.push_back({seed, verdict.violation});
  }
}

void Campaign::merge(const Campaign& other) {
  schedules += other.schedules;
  events += other.events;
  inputs += other.inputs;
  devices.begun += other.devices.begun;
  devices.strangers += other.devices.strangers;
  for (std::size_t what = 0; what < apart.size(); ++what) apart[what] += other.apart[what];
  for (std::size_t kind = 0; kind < coverage.size(); ++kind) {
    for (std::size_t status = 0; status < coverage[kind].size(); ++status) {
      coverage[kind][status] += other.coverage[kind][status];
    }
  }
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

std::string coverage_table(const Coverage& coverage) {
  std::string text = padded("tasks met", 16);
  for (model::Status status : kShown) text += padded(model::to_string(status), 12);
  text += "\n";
  for (std::size_t kind = 0; kind < coverage.size(); ++kind) {
    text += padded(to_string(static_cast<FaultKind>(kind)), 16);
    for (model::Status status : kShown) {
      text += padded(std::to_string(coverage[kind][static_cast<std::size_t>(status)]), 12);
    }
    text += "\n";
  }
  return text;
}

std::string report(const Failure& failure) {
  const Scenario whole = scenario_of(failure.seed);
  const Scenario small = minimise(whole);
  const Verdict verdict = run(small, Hashing::kOn);
  return "seed " + std::to_string(failure.seed) + ": " + failure.violation +
         "\nsmallest schedule that still breaks a promise (" + verdict.violation + "):\n" +
         describe(small);
}

}  // namespace runnel::sim
