// Runs a campaign of simulated schedules over the machine's cores; kUsage says how.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/campaign.h"
#include "sim/child.h"
#include "sim/pool.h"

// A sanitizer has to see each allocation.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

namespace {
constinit runnel::sim::Pool pool;
}  // namespace

void* operator new(std::size_t bytes) {
  void* memory = pool.take(bytes);
  if (memory == nullptr) memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (pool.owns(memory)) return pool.give(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { operator delete(memory); }

#endif

namespace {

using runnel::sim::Campaign;
using runnel::sim::Child;
using runnel::sim::ChildEnd;

constexpr std::int64_t kJobsMax = 1'024;

struct Options {
  std::int64_t schedules = 20'000;
  std::uint64_t first = 1;
  int jobs = 2;
  std::int64_t seconds = 0;  // Zero: as long as it takes.
  bool one = false;          // --seed: one schedule, told in full.
  bool poison = false;       // --poison 1: only schedules with a poison task.
  std::int64_t hashes = 0;   // --hashes N: print the log hashes of N seeds and nothing else.
  std::int64_t logs = 0;     // --logs N: print the logs of N seeds and nothing else.
};

constexpr const char* kUsage =
    "usage: sim_campaign [--schedules N] [--first SEED] [--jobs N] [--seconds N] [--poison 1]\n"
    "       sim_campaign --seed SEED       one schedule, told in full\n"
    "       sim_campaign --hashes N        the log hashes of N seeds\n"
    "       sim_campaign --logs N          the logs of N seeds, for brain_again\n";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "sim_campaign: %s\n%s", why.c_str(), kUsage);
  std::exit(2);
}

std::int64_t number_of(const std::string& flag, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.begin(), text.end(), value);
  const bool whole = problem == std::errc() && end == text.end() && value >= 0;
  if (!whole) refuse(flag + " takes a number from 0, not '" + std::string(text) + "'");
  return value;
}

// False: there is no such flag.
bool set(Options& options, const std::string& flag, std::int64_t value) {
  if (flag == "--schedules") {
    options.schedules = value;
  } else if (flag == "--first" || flag == "--seed") {
    options.first = static_cast<std::uint64_t>(value);
    options.one = flag == "--seed";
  } else if (flag == "--jobs") {
    options.jobs = static_cast<int>(std::clamp<std::int64_t>(value, 1, kJobsMax));
  } else if (flag == "--seconds") {
    options.seconds = value;
  } else if (flag == "--hashes") {
    options.hashes = value;
  } else if (flag == "--logs") {
    options.logs = value;
  } else if (flag == "--poison") {
    options.poison = value != 0;
  } else {
    return false;
  }
  return true;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at < argc; at += 2) {
    const std::string flag = argv[at];
    if (flag == "--help" || flag == "-h") {
      std::printf("%s", kUsage);
      std::exit(0);
    }
    if (!set(options, flag, 0)) refuse("there is no flag " + flag);
    if (at + 1 == argc) refuse(flag + " lacks its number");
    set(options, flag, number_of(flag, argv[at + 1]));
  }
  return options;
}

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

Campaign work(const Options& options, int worker) {
  constexpr std::int64_t kSlice = 50;
  Campaign campaign;
  campaign.poison_only = options.poison;
  const double end = now() + static_cast<double>(options.seconds);
  for (std::int64_t done = worker * kSlice; done < options.schedules;
       done += kSlice * options.jobs) {
    if (options.seconds > 0 && now() > end) break;
    if (campaign.failures.size() >= runnel::sim::kFailuresMax) break;
    campaign.add_in_child(options.first + static_cast<std::uint64_t>(done),
                          std::min(kSlice, options.schedules - done));
  }
  return campaign;
}

// One worker per core.
Campaign run_workers(const Options& options) {
  std::vector<std::unique_ptr<Child>> workers;
  workers.reserve(static_cast<std::size_t>(options.jobs));
  for (int number = 0; number < options.jobs; ++number) {
    workers.push_back(
        std::make_unique<Child>([&options, number] { return work(options, number).text(); }));
  }
  Campaign total;
  for (const auto& worker : workers) {
    const ChildEnd end = worker->end();
    if (!end.died.empty() || !total.merge_text(end.text)) {
      total.failures.push_back({0, "a worker of the campaign " + end.died});
    }
  }
  return total;
}

int tell_one(std::uint64_t seed) {
  const auto scenario = runnel::sim::scenario_of(seed);
  std::printf("%s", describe(scenario).c_str());
  std::fflush(stdout);
  const auto verdict = runnel::sim::run(scenario, runnel::sim::Depth::kAll);
  std::printf("events %lld, log hash %s\n", static_cast<long long>(verdict.events),
              verdict.log_hash.c_str());
  if (verdict.violation.empty()) return 0;
  std::printf("%s\n", runnel::sim::report({seed, verdict.violation}).c_str());
  return 1;
}

int print_hashes(const Options& options) {
  for (std::int64_t each = 0; each < options.hashes; ++each) {
    const std::uint64_t seed = options.first + static_cast<std::uint64_t>(each);
    const auto verdict = runnel::sim::run(runnel::sim::scenario_of(seed), runnel::sim::Depth::kAll);
    std::printf("%llu %s\n", static_cast<unsigned long long>(seed), verdict.log_hash.c_str());
    if (!verdict.violation.empty()) return 1;
  }
  return 0;
}

// For brain_again, which says how it reads them.
int print_logs(const Options& options) {
  for (std::int64_t each = 0; each < options.logs; ++each) {
    const auto scenario =
        runnel::sim::scenario_of(options.first + static_cast<std::uint64_t>(each));
    std::vector<runnel::store::Batch> log;
    const auto verdict = runnel::sim::run(scenario, runnel::sim::Depth::kAll, &log);
    if (!verdict.violation.empty()) return 1;
    std::printf("log\t%zu\t%lld\n", scenario.limits.finished_jobs,
                static_cast<long long>(scenario.limits.key_life.millis()));
    for (const runnel::store::Batch& batch : log) {
      std::printf("batch\t%lld\t%s\t%s\n", static_cast<long long>(batch.now.millis()),
                  batch.input.c_str(), batch.events.c_str());
    }
    std::printf("state\t%s\n", verdict.state_hash.c_str());
  }
  std::printf("end\t%lld\n", static_cast<long long>(options.logs));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.one) return tell_one(options.first);
  if (options.hashes > 0) return print_hashes(options);
  if (options.logs > 0) return print_logs(options);
  const double start = now();
  const Campaign total = run_workers(options);
  const double took = now() - start;
  std::printf("%s", runnel::sim::coverage_table(total.coverage).c_str());
  std::printf("devices: %lld places began with some, %lld ranks were strangers on a node\n",
              static_cast<long long>(total.devices.begun),
              static_cast<long long>(total.devices.strangers));
  std::printf("quarantine: %lld devices vanished, %lld attempts ended for it, %lld granted again\n",
              static_cast<long long>(total.quarantine.vanished),
              static_cast<long long>(total.quarantine.moved),
              static_cast<long long>(total.quarantine.again));
  std::printf("%s", runnel::sim::apart_line(total.apart).c_str());
  std::printf("%s", runnel::sim::reach_lines(total.reach).c_str());
  std::printf(
      "%lld schedules, %lld events, %lld steps in %.1f s: %.0f schedules/s, %.0f events/s\n",
      static_cast<long long>(total.schedules), static_cast<long long>(total.events),
      static_cast<long long>(total.inputs), took, static_cast<double>(total.schedules) / took,
      static_cast<double>(total.events) / took);
  // All of them first: looking for the smallest schedule may end as the schedule did.
  for (const auto& failure : total.failures) {
    std::printf("VIOLATION seed %llu: %s\n", static_cast<unsigned long long>(failure.seed),
                failure.violation.c_str());
  }
  std::fflush(stdout);
  for (const auto& failure : total.failures) {
    std::printf("%s\n", runnel::sim::report(failure).c_str());
  }
  return total.failures.empty() ? 0 : 1;
}
