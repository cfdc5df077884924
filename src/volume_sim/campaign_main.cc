// Runs simulated schedules of a volume; kUsage says how.
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "volume_sim/branch_schedule.h"
#include "volume_sim/cache_schedule.h"
#include "volume_sim/files_schedule.h"
#include "volume_sim/lease_schedule.h"
#include "volume_sim/schedule.h"

namespace {

using runnel::volume_sim::BranchOutcome;
using runnel::volume_sim::CacheOutcome;
using runnel::volume_sim::FilesOutcome;
using runnel::volume_sim::LeaseOutcome;
using runnel::volume_sim::Outcome;
using runnel::volume_sim::run_branch_schedule;
using runnel::volume_sim::run_cache_schedule;
using runnel::volume_sim::run_files_schedule;
using runnel::volume_sim::run_lease_schedule;
using runnel::volume_sim::run_merge_schedule;
using runnel::volume_sim::run_schedule;

constexpr const char* kUsage =
    "usage: volume_sim_campaign [--schedules N] [--first SEED] [--jobs N] [--seconds N]\n"
    "                           [--writing 0]          0: volumes and caches alone\n"
    "       volume_sim_campaign --seed SEED   one schedule, told in full\n";

constexpr std::uint64_t kCacheEvery = 16;  // A schedule of a cache takes ten times as long.
constexpr std::uint64_t kBranchEvery = 4;
constexpr std::uint64_t kFilesEvery = 8;
constexpr std::uint64_t kLeaseEvery = 4;
constexpr std::uint64_t kMergeEvery = 2;

struct Options {
  std::uint64_t schedules = 2'000;
  std::uint64_t first = 1;
  std::uint64_t jobs = 2;
  std::uint64_t seconds = 0;  // Zero: as long as it takes.
  std::uint64_t writing = 1;  // Zero: without branches, their files, leases and merges.
  bool one = false;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "volume_sim_campaign: %s\n%s", why.c_str(), kUsage);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at < argc; at += 2) {
    const std::string flag = argv[at];
    if (at + 1 == argc) refuse(flag + " takes a number");
    const std::string_view text = argv[at + 1];
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.begin(), text.end(), value);
    if (read.ec != std::errc() || read.ptr != text.end()) refuse(flag + " takes a number");
    if (flag == "--schedules") {
      options.schedules = value;
    } else if (flag == "--first") {
      options.first = value;
    } else if (flag == "--jobs") {
      options.jobs = value == 0 ? 1 : value;
    } else if (flag == "--seconds") {
      options.seconds = value;
    } else if (flag == "--writing") {
      options.writing = value;
    } else if (flag == "--seed") {
      options.first = value;
      options.one = true;
    } else {
      refuse("there is no flag " + flag);
    }
  }
  return options;
}

// Whether the schedule was well; else its violation is told.
template <typename Sum>
bool is_added(Sum& all, const Sum& one, std::uint64_t seed) {
  all.add(one);
  if (one.violation.empty()) return true;
  std::printf("VIOLATION %s\n  volume_sim_campaign --seed %llu\n", one.violation.c_str(),
              static_cast<unsigned long long>(seed));
  return false;
}

bool has_cache(std::uint64_t seed) { return seed / 2 % kCacheEvery == 0; }
bool has_branch(std::uint64_t seed) { return seed / 2 % kBranchEvery == 1; }
bool has_files(std::uint64_t seed) { return seed / 2 % kFilesEvery == 2; }
bool has_lease(std::uint64_t seed) { return seed / 2 % kLeaseEvery == 3; }
bool has_merge(std::uint64_t seed) { return seed / 2 % kMergeEvery == 0; }

// What is written to the volumes of one seed. Whether all of it was well.
struct Written {
  BranchOutcome branches;
  FilesOutcome files;
  LeaseOutcome leases;
  Outcome merges;

  bool is_well(std::uint64_t seed) {
    return (!has_branch(seed) || is_added(branches, run_branch_schedule(seed, false), seed)) &&
           (!has_files(seed) || is_added(files, run_files_schedule(seed, false), seed)) &&
           (!has_lease(seed) || is_added(leases, run_lease_schedule(seed, false), seed)) &&
           (!has_merge(seed) || is_added(merges, run_merge_schedule(seed, false), seed));
  }
};

// Every `jobs`-th schedule from the `job`-th on. The exit status.
int run_share(const Options& options, std::uint64_t job) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  Outcome all;
  CacheOutcome caches;
  Written written;
  std::uint64_t count = 0;
  for (std::uint64_t at = job; at < options.schedules; at += options.jobs, ++count) {
    if (options.seconds > 0 && std::chrono::steady_clock::now() >= until) break;
    const std::uint64_t seed = options.first + at;
    bool is_well = is_added(all, run_schedule(seed, false), seed);
    if (has_cache(seed)) is_well = is_well && is_added(caches, run_cache_schedule(seed), seed);
    if (options.writing != 0) is_well = is_well && written.is_well(seed);
    if (!is_well) return 1;
  }
  std::printf(
      "%llu schedules: %lld versions, %lld lists of garbage, %lld clones, %lld deletions, %lld "
      "resumptions, %lld kills, %lld stops; caches killed %lld times served %lld parts\n",
      static_cast<unsigned long long>(count), static_cast<long long>(all.publishes),
      static_cast<long long>(all.collections), static_cast<long long>(all.clones),
      static_cast<long long>(all.deletions), static_cast<long long>(all.resumptions),
      static_cast<long long>(all.kills), static_cast<long long>(all.freezes),
      static_cast<long long>(caches.kills), static_cast<long long>(caches.served));
  std::printf(
      "branches: %lld changes, %lld publishes, %lld kills and power losses, %lld of power, %lld "
      "records lost, %lld refused by logs that had failed; files: %lld calls, %lld of them "
      "refused, "
      "%lld publishes\n",
      static_cast<long long>(written.branches.changes),
      static_cast<long long>(written.branches.publishes),
      static_cast<long long>(written.branches.kills),
      static_cast<long long>(written.branches.power_losses),
      static_cast<long long>(written.branches.lost),
      static_cast<long long>(written.branches.failures),
      static_cast<long long>(written.files.calls), static_cast<long long>(written.files.refused),
      static_cast<long long>(written.files.publishes));
  std::printf(
      "leases: %lld mounts had one, %lld were refused, %lld lost it, %lld versions were recovered; "
      "%lld files\n",
      static_cast<long long>(written.leases.leases), static_cast<long long>(written.leases.refused),
      static_cast<long long>(written.leases.lost), static_cast<long long>(written.leases.recovered),
      static_cast<long long>(written.leases.files));
  std::printf("merges: %lld attempts, %lld branches merged, %lld versions, %lld lists of garbage\n",
              static_cast<long long>(written.merges.attempts),
              static_cast<long long>(written.merges.merges),
              static_cast<long long>(written.merges.publishes),
              static_cast<long long>(written.merges.collections));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.one) {
    const Outcome one = run_schedule(options.first, true);
    std::string violation = one.violation;
    if (violation.empty() && has_cache(options.first)) {
      violation = run_cache_schedule(options.first).violation;
    }
    if (violation.empty() && has_branch(options.first)) {
      violation = run_branch_schedule(options.first, true).violation;
    }
    if (violation.empty() && has_files(options.first)) {
      violation = run_files_schedule(options.first, true).violation;
    }
    if (violation.empty() && has_lease(options.first)) {
      violation = run_lease_schedule(options.first, true).violation;
    }
    if (violation.empty() && has_merge(options.first)) {
      violation = run_merge_schedule(options.first, true).violation;
    }
    std::printf("hash %016llx\n%s\n", static_cast<unsigned long long>(one.hash),
                violation.empty() ? "no violation" : ("VIOLATION " + violation).c_str());
    return violation.empty() ? 0 : 1;
  }
  for (std::uint64_t job = 0; job < options.jobs; ++job) {
    if (::fork() == 0) {
      const int code = run_share(options, job);
      std::fflush(stdout);
      ::_exit(code);
    }
  }
  int failed = 0;
  for (int status = 0; ::wait(&status) > 0;) failed += status == 0 ? 0 : 1;
  std::printf("%s\n", failed == 0 ? "no violation" : "violations");
  return failed == 0 ? 0 : 1;
}
