// Runs a campaign of simulated schedules over the machine's cores; kUsage says how.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/campaign.h"

namespace {

using runnel::sim::Campaign;

constexpr std::int64_t kJobsMax = 1'024;

struct Options {
  std::int64_t schedules = 20'000;
  std::uint64_t first = 1;
  int jobs = 2;
  std::int64_t seconds = 0;  // Zero: as long as it takes.
  bool one = false;          // --seed: one schedule, told in full.
  bool poison = false;       // --poison 1: only schedules with a poison task.
  std::int64_t hashes = 0;   // --hashes N: print the log hashes of N seeds and nothing else.
};

constexpr const char* kUsage =
    "usage: sim_campaign [--schedules N] [--first SEED] [--jobs N] [--seconds N] [--poison 1]\n"
    "       sim_campaign --seed SEED       one schedule, told in full\n"
    "       sim_campaign --hashes N        the log hashes of N seeds\n";

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

// A worker's numbers as it writes them to its pipe: fixed-size fields first, then failures as
// lines.
void send_campaign(int pipe, const Campaign& campaign) {
  std::string text(reinterpret_cast<const char*>(&campaign.schedules), sizeof campaign.schedules);
  text.append(reinterpret_cast<const char*>(&campaign.events), sizeof campaign.events);
  text.append(reinterpret_cast<const char*>(&campaign.inputs), sizeof campaign.inputs);
  text.append(reinterpret_cast<const char*>(&campaign.coverage), sizeof campaign.coverage);
  text.append(reinterpret_cast<const char*>(&campaign.devices), sizeof campaign.devices);
  text.append(reinterpret_cast<const char*>(&campaign.apart), sizeof campaign.apart);
  for (const auto& failure : campaign.failures) {
    text += std::to_string(failure.seed) + " " + failure.violation + '\0';
  }
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t wrote = write(pipe, text.data() + sent, text.size() - sent);
    if (wrote <= 0) std::exit(1);
    sent += static_cast<std::size_t>(wrote);
  }
}

std::string read_all(int pipe) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(pipe, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(pipe);
  return text;
}

template <typename T>
void take(const std::string& text, std::size_t& at, T& value) {
  std::memcpy(static_cast<void*>(&value), text.data() + at, sizeof value);
  at += sizeof value;
}

bool receive_campaign(const std::string& text, Campaign& campaign) {
  const std::size_t fixed = 3 * sizeof(std::int64_t) + sizeof campaign.coverage +
                            sizeof campaign.devices + sizeof campaign.apart;
  if (text.size() < fixed) return false;
  std::size_t at = 0;
  take(text, at, campaign.schedules);
  take(text, at, campaign.events);
  take(text, at, campaign.inputs);
  take(text, at, campaign.coverage);
  take(text, at, campaign.devices);
  take(text, at, campaign.apart);
  while (at < text.size()) {
    const std::size_t end = text.find('\0', at);
    const std::size_t space = text.find(' ', at);
    if (end == std::string::npos || space > end) return false;
    campaign.failures.push_back(
        {std::stoull(text.substr(at, space - at)), text.substr(space + 1, end - space - 1)});
    at = end + 1;
  }
  return true;
}

// The seed that a worker runs, in memory that outlives it; zero before the first.
using Running = std::atomic<std::uint64_t>;

Running* share_running() {
  void* memory =
      mmap(nullptr, sizeof(Running), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Running(0);
}

struct Worker {
  pid_t process = 0;
  int pipe = -1;
  Running* running = nullptr;
};

Campaign work(const Options& options, int worker, Running* running) {
  constexpr std::int64_t kSlice = 50;
  Campaign campaign;
  campaign.poison_only = options.poison;
  const double end = now() + static_cast<double>(options.seconds);
  for (std::int64_t done = worker * kSlice; done < options.schedules;
       done += kSlice * options.jobs) {
    if (options.seconds > 0 && now() > end) break;
    if (campaign.failures.size() >= runnel::sim::kFailuresMax) break;
    campaign.add(options.first + static_cast<std::uint64_t>(done),
                 std::min(kSlice, options.schedules - done), running);
  }
  return campaign;
}

bool begin(const Options& options, int number, Worker& worker) {
  int ends[2];
  worker.running = share_running();
  if (worker.running == nullptr || pipe(ends) != 0) return false;
  worker.process = fork();
  if (worker.process < 0) return false;
  if (worker.process == 0) {
    close(ends[0]);
    send_campaign(ends[1], work(options, number, worker.running));
    _exit(0);
  }
  close(ends[1]);
  worker.pipe = ends[0];
  return true;
}

// Takes what the worker found; that it died is a finding about the seed it died of.
void finish(const Worker& worker, Campaign& total) {
  Campaign campaign;
  const bool whole = receive_campaign(read_all(worker.pipe), campaign);
  int status = 0;
  waitpid(worker.process, &status, 0);
  if (!whole || status != 0) {
    const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                : "exit " + std::to_string(WEXITSTATUS(status));
    campaign = Campaign();
    campaign.failures.push_back({*worker.running, "the worker died of " + how});
  }
  total.merge(campaign);
}

// One worker per core.
bool run_workers(const Options& options, Campaign& total) {
  std::vector<Worker> workers(static_cast<std::size_t>(options.jobs));
  for (int number = 0; number < options.jobs; ++number) {
    if (!begin(options, number, workers[static_cast<std::size_t>(number)])) return false;
  }
  for (const Worker& worker : workers) finish(worker, total);
  return true;
}

int tell_one(std::uint64_t seed) {
  const auto scenario = runnel::sim::scenario_of(seed);
  const auto verdict = runnel::sim::run(scenario, runnel::sim::Hashing::kOn);
  std::printf("%sevents %lld, log hash %s\n", describe(scenario).c_str(),
              static_cast<long long>(verdict.events), verdict.log_hash.c_str());
  if (verdict.violation.empty()) return 0;
  std::printf("%s\n", runnel::sim::report({seed, verdict.violation}).c_str());
  return 1;
}

int print_hashes(const Options& options) {
  for (std::int64_t each = 0; each < options.hashes; ++each) {
    const std::uint64_t seed = options.first + static_cast<std::uint64_t>(each);
    const auto verdict =
        runnel::sim::run(runnel::sim::scenario_of(seed), runnel::sim::Hashing::kOn);
    std::printf("%llu %s\n", static_cast<unsigned long long>(seed), verdict.log_hash.c_str());
    if (!verdict.violation.empty()) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.one) return tell_one(options.first);
  if (options.hashes > 0) return print_hashes(options);
  const double start = now();
  Campaign total;
  const bool fine = run_workers(options, total);
  const double took = now() - start;
  std::printf("%s", runnel::sim::coverage_table(total.coverage).c_str());
  std::printf("devices: %lld places began with some, %lld ranks were strangers on a node\n",
              static_cast<long long>(total.devices.begun),
              static_cast<long long>(total.devices.strangers));
  std::printf("%s", runnel::sim::apart_line(total.apart).c_str());
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
  if (!fine) std::printf("a worker did not start\n");
  return fine && total.failures.empty() ? 0 : 1;
}
