#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "env/clock.h"
#include "runner/supervisor.h"

namespace runnel::runner {
// TERM now, KILL after the grace. What was asked first is the cause; a shorter grace wins.
void Supervisor::end_place(Place& place, model::EndCause cause, std::string message,
                           Duration grace) {
  const Duration kill_at = env::real_clock().boot() + grace;
  if (place.forced) {
    if (!place.kill_at.is_zero() && kill_at < place.kill_at) place.kill_at = kill_at;
    return reschedule(place);
  }
  place.forced = cause;
  place.forced_message = std::move(message);
  place.timeout_at = {};
  withdraw(place, "stopped before it started", model::EndCause::kNotStarted);
  place.retry_at = {};
  if (place.over()) return finish_place(place);
  if (grace.is_zero()) {
    kill_place(place);
  } else {
    place.kill_at = kill_at;
    signal_place(place, SIGTERM);
    // One that was stopped (SIGSTOP, a shell's job control) hears TERM only when it goes on.
    signal_place(place, SIGCONT);
  }
  reschedule(place);
}

void Supervisor::kill_place(Place& place) {
  place.kill_at = {};
  signal_place(place, SIGKILL);
  for (RankRun& rank : place.ranks) {
    if (rank.phase != RankRun::Phase::kLeaving) continue;
    rank.phase = RankRun::Phase::kDraining;
    rank.drain_until = env::real_clock().boot() + kDrainMax;
    sweep_needed_ = true;
  }
}

// The whole tree of each rank: its process group, what left the group but is still below its
// leader, and what became our child.
void Supervisor::signal_place(Place& place, int signal_number) {
  for (const RankRun& rank : place.ranks) {
    if (!rank.lives()) continue;
    if (!rank.group_is_gone) {
      const std::vector<pid_t> below = descendants_of(rank.pid);
      ::kill(-rank.pid, signal_number);
      for (const pid_t pid : below) {
        if (::getpgid(pid) != rank.pid) ::kill(pid, signal_number);
      }
    }
    orphans_.signal({place.number, rank.fact.report.rank}, signal_number);
  }
}

void Supervisor::end_all() {
  std::vector<Place*> all;
  all.reserve(places_.size());
  for (const auto& [of, place] : places_) all.push_back(place.get());
  for (Place* place : all) {
    const std::string reason = "the node's runner was told to end";
    if (running_.contains(place->number)) {
      end_place(*place, model::EndCause::kVanished, reason, place->start.grace);
      continue;
    }
    std::erase(lanes_.at({place->start.node, place->start.lane}).queue, place);
    withdraw(*place, reason, model::EndCause::kVanished);
    finish_place(*place);
  }
}

void Supervisor::reap() {
  while (true) {
    siginfo_t info{};
    // Not yet reaped: while its leader is a zombie, a process group's number cannot be reused.
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
    process_ended(info.si_pid);
  }
  settle();
}

void Supervisor::process_ended(pid_t pid) {
  const auto found = pids_.find(pid);
  const bool leader = found != pids_.end() && found->second.rank->phase == RankRun::Phase::kRunning;
  // A shell dies of TERM at once; its child may be saving its state.
  if (leader && !found->second.place->in_grace()) ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  orphans_.ended(pid);
  // The children of any process that ends become ours.
  sweep_needed_ = true;
  if (leader) leader_ended(*found->second.place, *found->second.rank, status);
}

void Supervisor::leader_ended(Place& place, RankRun& rank, int status) {
  CHECK(live_leaders_ > 0, "more leaders ended than were started");
  --live_leaders_;
  const Duration now = env::real_clock().boot();
  model::RankReport& report = rank.fact.report;
  rank.phase = place.in_grace() ? RankRun::Phase::kLeaving : RankRun::Phase::kDraining;
  rank.drain_look = now + kDrainLookEvery;
  rank.drain_until = now + kDrainMax;
  report.ended_at = report.started_at + (now - rank.started);
  if (WIFSIGNALED(status)) report.signal = WTERMSIG(status);
  if (WIFEXITED(status)) report.code = WEXITSTATUS(status);
  report.cause = place.forced.value_or(model::EndCause::kExited);
  report.message = place.forced_message;
  tell_over_limit(place, report);
  tell_full_disk(place, report);
  draining_.insert(place.number);
}

// The kernel killed a process of the group: it was for memory if the attempt failed by it.
void Supervisor::tell_over_limit(Place& place, model::RankReport& report) {
  if (!place.memory_group || place.forced) return;
  if (report.code == 0 && report.signal == 0) return;
  if (!memory_groups_.over_limit(*place.memory_group)) return;
  report.cause = model::EndCause::kOutOfMemory;
  report.message = "over its memory limit of " + human(place.start.memory_max) + ", kept " +
                   std::string(describe(memory_groups_.way()));
}

// Its output may have failed for that, and then nothing else of it tells.
void Supervisor::tell_full_disk(const Place& place, model::RankReport& report) {
  if (place.forced || !report.message.empty()) return;
  if (report.code == 0 && report.signal == 0) return;
  if (is_disk_full()) {
    report.message = "the disk of the home was full when it ended";
  }
}

// Finishes what has drained; a place that is over may free an orphan that waited for it.
void Supervisor::settle() {
  if (!std::exchange(sweep_needed_, false)) return;
  do {
    look_for_orphans();
  } while (settle_draining() && !orphans_.empty());
}

void Supervisor::look_for_orphans() {
  const auto rank_at = [this](Orphans::Owner owner) -> const RankRun* {
    const auto place = by_number_.find(owner.place);
    if (place == by_number_.end()) return nullptr;
    const std::int32_t at = owner.rank - place->second->start.first_rank;
    if (at < 0 || at >= place->second->start.rank_count()) return nullptr;
    return &place->second->ranks[static_cast<std::size_t>(at)];
  };
  Orphans::World world;
  world.is_leader = [this](pid_t pid) {
    const auto found = pids_.find(pid);
    return found != pids_.end() && found->second.rank->phase == RankRun::Phase::kRunning;
  };
  world.is_alive = [&](Orphans::Owner owner) {
    const RankRun* rank = rank_at(owner);
    return rank != nullptr && rank->lives();
  };
  world.of_group = [this](pid_t group) {
    const auto found = pids_.find(group);
    if (found == pids_.end()) return Orphans::Owner{};
    return Orphans::Owner{found->second.place->number, found->second.rank->fact.report.rank};
  };
  world.newest_place = running_.empty() ? 0 : *running_.rbegin();
  world.oldest_place = running_.empty() ? 0 : *running_.begin();
  world.leaders = live_leaders_;
  world.now = env::real_clock().boot();
  orphans_.look(world);
}

// True when a place was over by it.
bool Supervisor::settle_draining() {
  bool any_over = false;
  const std::vector<std::uint64_t> numbers(draining_.begin(), draining_.end());
  for (const std::uint64_t number : numbers) {
    Place& place = *by_number_.at(number);
    for (RankRun& rank : place.ranks) {
      if (rank.leader_gone() && drained(place, rank)) finish_rank(place, rank);
    }
    if (!place.draining()) draining_.erase(number);
    if (place.over()) {
      any_over = true;
      finish_place(place);
    } else {
      reschedule(place);
    }
  }
  return any_over;
}

// The number of a group that is gone may become another's: it is not signalled again.
bool Supervisor::drained(const Place& place, RankRun& rank) const {
  CHECK(rank.pid > 1, "a rank that ended never had a process of its own");
  const int signal_number = rank.phase == RankRun::Phase::kLeaving ? 0 : SIGKILL;
  if (!rank.group_is_gone) {
    rank.group_is_gone = ::kill(-rank.pid, signal_number) != 0 && errno == ESRCH;
  }
  return rank.group_is_gone && !orphans_.any_of({place.number, rank.fact.report.rank});
}

}  // namespace runnel::runner
