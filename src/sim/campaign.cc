#include "sim/campaign.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/status.h"
#include "sim/child.h"
#include "sim/minimise.h"

namespace runnel::sim {
namespace {

// The statuses a task can have in this version.
constexpr std::array kShown = {
    model::Status::kQueued, model::Status::kStarting,   model::Status::kRunning,
    model::Status::kPaused, model::Status::kRecovering, model::Status::kSucceeded,
    model::Status::kFailed, model::Status::kCancelled,  model::Status::kSkipped,
    model::Status::kPruned, model::Status::kTimeout,    model::Status::kOutOfMemory};

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
    const Depth depth = seed % kAllEvery == 0 ? Depth::kAll : Depth::kUsual;
    const Scenario scenario = scenario_of(seed);
    if (poison_only && !scenario.poisoned()) continue;
    const Verdict verdict = run(scenario, depth);
    ++schedules;
    events += verdict.events;
    inputs += verdict.inputs;
    devices.begun += verdict.devices.begun;
    devices.strangers += verdict.devices.strangers;
    quarantine.add(verdict.quarantine);
    for (std::size_t what = 0; what < apart.size(); ++what) apart[what] += verdict.apart[what];
    for (std::size_t what = 0; what < reach.size(); ++what) reach[what] += verdict.reach[what];
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
  quarantine.add(other.quarantine);
  for (std::size_t what = 0; what < apart.size(); ++what) apart[what] += other.apart[what];
  for (std::size_t what = 0; what < reach.size(); ++what) reach[what] += other.reach[what];
  for (std::size_t kind = 0; kind < coverage.size(); ++kind) {
    for (std::size_t status = 0; status < coverage[kind].size(); ++status) {
      coverage[kind][status] += other.coverage[kind][status];
    }
  }
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

namespace {

// The seed that a child runs, in memory that outlives it.
class SharedSeed {
 public:
  SharedSeed()
      : memory_(mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    CHECK(memory_ != MAP_FAILED, "no memory to share with a child");
    seed_ = new (memory_) std::atomic<std::uint64_t>(0);
  }
  ~SharedSeed() { munmap(memory_, sizeof(std::atomic<std::uint64_t>)); }
  SharedSeed(const SharedSeed&) = delete;
  SharedSeed& operator=(const SharedSeed&) = delete;

  std::atomic<std::uint64_t>* get() { return seed_; }

 private:
  void* memory_;
  std::atomic<std::uint64_t>* seed_;
};

// A schedule takes milliseconds, and a few of them a second.
constexpr int kMinimiserRunsMax = 400;

std::string violation_of(const Scenario& scenario) {
  const ChildEnd end = Child([&scenario] { return run(scenario, Depth::kAll).violation; }).end();
  return end.died.empty() ? end.text : end.died;
}

template <typename T>
void put(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
bool take(std::string_view& text, T& value) {
  if (text.size() < sizeof value) return false;
  std::memcpy(static_cast<void*>(&value), text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return true;
}

}  // namespace

void Campaign::add_in_child(std::uint64_t first, std::int64_t count) {
  while (count > 0 && failures.size() < kFailuresMax) {
    SharedSeed running;
    Child child([&] {
      Campaign part;
      part.poison_only = poison_only;
      part.add(first, count, running.get());
      return part.text();
    });
    const ChildEnd end = child.end();
    if (end.died.empty()) {
      CHECK(merge_text(end.text), "a child has sent half of its campaign");
      return;
    }
    const std::uint64_t dead = *running.get();
    CHECK(dead >= first, "a child died before its first schedule");
    add_in_child(first, static_cast<std::int64_t>(dead - first));  // What it had found is lost.
    ++schedules;
    failures.push_back({dead, end.died});
    count -= static_cast<std::int64_t>(dead - first) + 1;
    first = dead + 1;
  }
}

// Numbers in the machine's own form, for a process of the same build: then the failures.
std::string Campaign::text() const {
  std::string text;
  put(text, schedules);
  put(text, events);
  put(text, inputs);
  put(text, coverage);
  put(text, devices);
  put(text, quarantine);
  put(text, apart);
  put(text, reach);
  for (const Failure& failure : failures) {
    put(text, failure.seed);
    text += failure.violation + '\0';
  }
  return text;
}

bool Campaign::merge_text(std::string_view text) {
  Campaign other;
  const bool numbers = take(text, other.schedules) && take(text, other.events) &&
                       take(text, other.inputs) && take(text, other.coverage) &&
                       take(text, other.devices) && take(text, other.quarantine) &&
                       take(text, other.apart) && take(text, other.reach);
  if (!numbers) return false;
  while (!text.empty()) {
    Failure failure;
    const bool seed = take(text, failure.seed);
    const std::size_t end = text.find('\0');
    if (!seed || end == std::string_view::npos) return false;
    failure.violation = text.substr(0, end);
    text.remove_prefix(end + 1);
    other.failures.push_back(std::move(failure));
  }
  merge(other);
  return true;
}

std::string coverage_table(const Coverage& coverage) {
  std::string text = padded("tasks met", 16);
  for (model::Status status : kShown) text += padded(model::to_string(status), 14);
  text += "\n";
  for (std::size_t kind = 0; kind < coverage.size(); ++kind) {
    text += padded(to_string(static_cast<FaultKind>(kind)), 16);
    for (model::Status status : kShown) {
      text += padded(std::to_string(coverage[kind][static_cast<std::size_t>(status)]), 14);
    }
    text += "\n";
  }
  return text;
}

std::string report(const Failure& failure) {
  const Scenario whole = scenario_of(failure.seed);
  const Scenario small = minimise(
      whole, [](const Scenario& candidate) { return !violation_of(candidate).empty(); },
      kMinimiserRunsMax);
  return "seed " + std::to_string(failure.seed) + ": " + failure.violation +
         "\nsmallest schedule that still breaks a promise (" + violation_of(small) + "):\n" +
         describe(small);
}

}  // namespace runnel::sim
