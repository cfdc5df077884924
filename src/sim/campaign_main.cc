// Runs a campaign of simulated schedules over the machine's cores:
//   sim_campaign [--schedules N] [--first SEED] [--jobs N] [--seconds N] [--seed SEED] [--hashes N]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sim/campaign.h"

namespace {

using runnel::sim::Campaign;

struct Options {
  std::int64_t schedules = 20'000;
  std::uint64_t first = 1;
  int jobs = 2;
  std::int64_t seconds = 0;  // Zero: as long as it takes.
  bool one = false;          // --seed: one schedule, told in full.
  std::int64_t hashes = 0;   // --hashes N: print the log hashes of N seeds and nothing else.
};

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string flag = argv[at];
    const std::int64_t value = std::stoll(argv[at + 1]);
    if (flag == "--schedules") options.schedules = value;
    if (flag == "--first" || flag == "--seed") options.first = static_cast<std::uint64_t>(value);
    if (flag == "--seed") options.one = true;
    if (flag == "--jobs") options.jobs = static_cast<int>(value);
    if (flag == "--seconds") options.seconds = value;
    if (flag == "--hashes") options.hashes = value;
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
  const std::size_t fixed = 3 * sizeof(std::int64_t) + sizeof campaign.coverage;
  if (text.size() < fixed) return false;
  std::size_t at = 0;
  take(text, at, campaign.schedules);
  take(text, at, campaign.events);
  take(text, at, campaign.inputs);
  take(text, at, campaign.coverage);
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

Campaign work(const Options& options, int worker) {
  constexpr std::int64_t kSlice = 50;
  Campaign campaign;
  const double end = now() + static_cast<double>(options.seconds);
  for (std::int64_t done = worker * kSlice; done < options.schedules;
       done += kSlice * options.jobs) {
    if (options.seconds > 0 && now() > end) break;
    if (campaign.failures.size() >= runnel::sim::kFailuresMax) break;
    campaign.add(options.first + static_cast<std::uint64_t>(done),
                 std::min(kSlice, options.schedules - done));
  }
  return campaign;
}

// Forks one worker per core; a worker that dies is a failure of the campaign.
bool run_workers(const Options& options, Campaign& total) {
  std::vector<int> pipes;
  for (int worker = 0; worker < options.jobs; ++worker) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    if (fork() == 0) {
      close(ends[0]);
      send_campaign(ends[1], work(options, worker));
      _exit(0);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  bool fine = true;
  for (int pipe : pipes) {
    Campaign campaign;
    fine = receive_campaign(read_all(pipe), campaign) && fine;
    total.merge(campaign);
  }
  for (int status = 0; wait(&status) > 0;) fine = fine && status == 0;
  return fine;
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
  std::printf(
      "%lld schedules, %lld events, %lld steps in %.1f s: %.0f schedules/s, %.0f events/s\n",
      static_cast<long long>(total.schedules), static_cast<long long>(total.events),
      static_cast<long long>(total.inputs), took, static_cast<double>(total.schedules) / took,
      static_cast<double>(total.events) / took);
  for (const auto& failure : total.failures) {
    std::printf("VIOLATION %s\n", runnel::sim::report(failure).c_str());
  }
  if (!fine) std::printf("a worker died\n");
  return fine && total.failures.empty() ? 0 : 1;
}
