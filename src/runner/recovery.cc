#include "runner/recovery.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "env/clock.h"
#include "env/files.h"
#include "output/job_output.h"
#include "output/paths.h"
#include "runner/folders.h"
#include "runner/journal.h"
#include "runner/orphans.h"
#include "runner/process_tree.h"

namespace runnel::runner {
namespace {

// The clock tick of /proc, and the longest a spawn is tried again.
constexpr Duration kStartSlack = Duration::millis(20);
constexpr Duration kStartLateMax = Duration::seconds(31);
constexpr Duration kAnswerMax = Duration::seconds(1);  // As Orphans::kSilentMax.
constexpr Duration kKillMax = Duration::seconds(5);
constexpr useconds_t kLookEveryMicros = 5'000;
// Nobody's task. Of a container's, root itself may have no right to read the environment.
constexpr pid_t kInit = 1;

// A process is the same one only with the same start.
using Victims = std::map<pid_t, Duration>;

bool lives(pid_t pid, Duration started) {
  ProcessStat stat;
  return read_stat(pid, stat) && stat.started == started && stat.state != 'Z';
}

void add_victim(Victims& victims, pid_t pid) {
  ProcessStat stat;
  if (pid != ::getpid() && read_stat(pid, stat) && stat.state != 'Z') victims[pid] = stat.started;
}

// The rank's own process, although its environment may no longer tell: some programs write over it.
bool is_rank(const JournalRank& rank) {
  ProcessStat stat;
  if (rank.pid == 0 || !read_stat(rank.pid, stat)) return false;
  return stat.group == rank.pid && stat.started + kStartSlack >= rank.started &&
         stat.started <= rank.started + kStartLateMax;
}

void add_tree(Victims& victims, pid_t leader, const std::vector<pid_t>& all) {
  add_victim(victims, leader);
  for (const pid_t pid : descendants_of(leader)) add_victim(victims, pid);
  for (const pid_t pid : all) {
    if (::getpgid(pid) == leader) add_victim(victims, pid);
  }
}

// Those of `pids` whose environment says that they are of attempts of this home.
std::vector<pid_t> of_home(std::vector<pid_t> pids, const std::string& home_token) {
  std::vector<pid_t> found;
  // One in the middle of an exec tells a moment later, or many on a busy machine. Another user's,
  // which we may not look into, never does.
  const Duration until = env::real_clock().boot() + kAnswerMax;
  while (true) {
    std::vector<pid_t> silent;
    for (const pid_t pid : pids) {
      if (pid == kInit) continue;
      const std::optional<std::string> key = environment_value(pid, kAttemptKeyName);
      if (!key && owner_of(pid) == ::geteuid()) silent.push_back(pid);
      if (key && key->starts_with(home_token + ".")) found.push_back(pid);
    }
    if (silent.empty() || env::real_clock().boot() >= until) return found;
    pids = std::move(silent);
    ::usleep(kLookEveryMicros);
  }
}

Victims find_victims(const JournalContent& journal, const std::string& home_token) {
  Victims victims;
  const std::vector<pid_t> all = all_processes();
  for (const pid_t pid : of_home(all, home_token)) {
    // With its group: the journal may not have heard of a leader yet, and some of those that it
    // started may have dropped the environment.
    if (::getpgid(pid) == pid) {
      add_tree(victims, pid, all);
    } else {
      add_victim(victims, pid);
    }
  }
  for (const auto& [key, rank] : journal.ranks) {
    const bool open = rank.fact.state != RankFact::State::kEnded;
    if (open && is_rank(rank)) add_tree(victims, rank.pid, all);
  }
  return victims;
}

void signal_all(const Victims& victims, int signal_number) {
  for (const auto& [pid, started] : victims) {
    if (lives(pid, started)) ::kill(pid, signal_number);
  }
}

bool wait_gone(const Victims& victims, Duration limit) {
  const Duration until = env::real_clock().boot() + limit;
  while (true) {
    const bool any = std::any_of(victims.begin(), victims.end(), [](const auto& victim) {
      return lives(victim.first, victim.second);
    });
    if (!any) return true;
    if (env::real_clock().boot() >= until) return false;
    ::usleep(kLookEveryMicros);
  }
}

// TERM, grace, KILL; again, since a dying process may have started another.
bool end_left(const JournalContent& journal, const RecoveryOptions& options) {
  Victims victims = find_victims(journal, options.home_token);
  if (victims.empty()) return true;
  signal_all(victims, SIGTERM);
  signal_all(victims, SIGCONT);
  wait_gone(victims, options.grace);
  const Duration until = env::real_clock().boot() + kKillMax;
  while (env::real_clock().boot() < until) {
    victims = find_victims(journal, options.home_token);
    if (victims.empty()) return true;
    signal_all(victims, SIGKILL);
    wait_gone(victims, Duration::seconds(1));
  }
  return false;
}

RankFact lost(const JournalRank& rank, model::EndCause cause, const std::string& message) {
  RankFact fact = rank.fact;
  fact.state = RankFact::State::kEnded;
  fact.report.ended = true;
  fact.report.ended_at = env::real_clock().wall();
  fact.report.cause = cause;
  fact.report.message = message;
  return fact;
}

// Closes the files of jobs: their owner is dead, so they end where they are.
class Closer {
 public:
  explicit Closer(std::string home) : home_(std::move(home)) {}
  ~Closer() {
    for (auto& [job, output] : outputs_) {
      if (output) (void)output->flush();
      TaskFolders(home_, job).remove_lanes();
    }
  }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

  void close(const JournalRank& rank) {
    const model::RankReport& report = rank.fact.report;
    const JobId& job = report.attempt.task.job;
    // A job that was deleted meanwhile gets no folders again.
    if (!env::exists(output::logs_folder(home_, job))) return;
    auto found = outputs_.find(job);
    if (found == outputs_.end()) found = outputs_.emplace(job, open(job)).first;
    if (found->second) {
      found->second->end_vanished(rank.slot, report.rank, report.attempt, env::real_clock().wall());
    }
    TaskFolders(home_, job).settle(rank.slot, report.attempt);
  }

 private:
  std::unique_ptr<output::JobOutput> open(const JobId& job) const {
    Result<output::JobOutput> output = output::JobOutput::open(home_, job);
    return output.ok() ? std::make_unique<output::JobOutput>(std::move(*output)) : nullptr;
  }

  std::string home_;
  std::map<JobId, std::unique_ptr<output::JobOutput>> outputs_;
};

Recovered damaged(const RecoveryOptions& options, const Error& error) {
  Recovered recovered;
  const std::string copy = options.journal + ".damaged";
  ::rename(options.journal.c_str(), copy.c_str());
  recovered.notice = error.to_string() + "; it was kept as " + copy;
  end_left({}, options);
  return recovered;
}

// Whether what it says of processes is true now, and of ours.
enum class Standing : std::uint8_t { kOurs, kEarlierBoot, kOtherFolder };

Standing standing_of(const JournalOrigin& origin, const RecoveryOptions& options) {
  if (origin.boot != options.boot) return Standing::kEarlierBoot;
  return origin.home_token == options.home_token ? Standing::kOurs : Standing::kOtherFolder;
}

std::string loss_message(Standing standing) {
  switch (standing) {
    case Standing::kOurs: return "the node's runner was killed; its exit code is not known";
    case Standing::kEarlierBoot: return "the machine was restarted";
    case Standing::kOtherFolder: break;
  }
  return "the home was copied or restored; what ran was started from another folder";
}

std::string other_folder_notice(const JournalOrigin& origin) {
  return "the journal of the runner before was written " +
         (origin.home.empty() ? "by an earlier build"
                              : "for " + origin.home + " in another folder") +
         ": processes that it names are left alone, and count as lost";
}

// The processes of a home that was moved from there, copied and removed, are ended by its runner.
bool left_by_itself(const JournalContent& journal) {
  const JournalOrigin& origin = journal.origin;
  if (origin.home.empty() || env::exists(origin.home)) return false;
  return wait_gone(find_victims(journal, origin.home_token), kKillMax);
}

// Ends what the runner before has left of this home; says what is worth telling.
std::string settle_processes(const JournalContent& journal, Standing standing,
                             const RecoveryOptions& options) {
  if (journal.ended_cleanly || standing == Standing::kEarlierBoot) return {};
  const bool ours = standing == Standing::kOurs;
  if (!ours && left_by_itself(journal)) return {};
  const bool gone = end_left(ours ? journal : JournalContent{}, options);
  if (!gone) return "a process that the dead runner had started could not be ended";
  return ours ? "" : other_folder_notice(journal.origin);
}

}  // namespace

Recovered recover(const RecoveryOptions& options) {
  const Result<JournalContent> read = read_journal(options.journal);
  if (!read.ok() && read.error().code == Errc::kNotFound) return {};
  if (!read.ok()) return damaged(options, read.error());
  const JournalContent& journal = *read;
  const Standing standing = standing_of(journal.origin, options);
  const bool ours = standing == Standing::kOurs;
  const bool any_open = std::any_of(journal.ranks.begin(), journal.ranks.end(), [](const auto& at) {
    return at.second.fact.state != RankFact::State::kEnded;
  });
  Recovered recovered;
  if (journal.ended_cleanly && ours && !any_open) {
    recovered.incarnation = journal.origin.incarnation;
  }
  recovered.notice = settle_processes(journal, standing, options);
  const std::string message = loss_message(standing);
  // Whatever ran may have done it; when the machine restarted, it was the machine.
  const bool crashed = ours && !journal.ended_cleanly;
  recovered.crashed_idle = crashed && !any_open;
  const auto cause = crashed ? model::EndCause::kRunnerLost : model::EndCause::kVanished;
  Closer closer(options.home);
  for (const auto& [key, rank] : journal.ranks) {
    const bool open = rank.fact.state != RankFact::State::kEnded;
    if (open) closer.close(rank);
    recovered.ended.push_back(open ? lost(rank, cause, message) : rank.fact);
  }
  return recovered;
}

}  // namespace runnel::runner
