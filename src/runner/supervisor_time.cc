#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/clock.h"
#include "runner/process_tree.h"
#include "runner/supervisor.h"

namespace runnel::runner {

void Supervisor::reschedule(Place& place) {
  const Duration deadline = place.deadline();
  if (deadline == place.scheduled) return;
  deadlines_.erase({place.scheduled, place.number});
  place.scheduled = deadline;
  if (!deadline.is_zero()) deadlines_.emplace(deadline, place.number);
}

Duration Supervisor::next_tick() const {
  if (!ready_lanes_.empty()) return Duration::millis(1);  // Long past: now.
  Duration nearest;
  const auto consider = [&](Duration at) {
    if (!at.is_zero() && (nearest.is_zero() || at < nearest)) nearest = at;
  };
  if (!deadlines_.empty()) consider(deadlines_.begin()->first);
  if (!running_.empty()) consider(look_at_);
  if (!blocked_lanes_.empty()) consider(disk_retry_at_);
  consider(pids_at_);
  for (const auto& [id, job] : jobs_) {
    if (job->places == 0) consider(job->idle_since + kJobIdleMax);
  }
  return nearest;
}

void Supervisor::tick() {
  const Duration now = env::real_clock().boot();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    place_due(*by_number_.at(deadlines_.begin()->second), now);
  }
  if (!running_.empty() && look_at_ <= now) look_at_running(now);
  if (!blocked_lanes_.empty() && disk_retry_at_ <= now) {
    ready_lanes_.merge(std::exchange(blocked_lanes_, {}));
  }
  drop_idle_jobs(now);
  settle();
}

// Each reason moves its own time forward or clears it, so that the loop above ends.
void Supervisor::place_due(Place& place, Duration now) {
  const auto is_due = [now](Duration at) { return !at.is_zero() && at <= now; };
  for (RankRun& rank : place.ranks) {
    if (!rank.leader_gone() || rank.drain_look > now) continue;
    rank.drain_look = now + kDrainLookEvery;
    sweep_needed_ = true;
    if (rank.phase == RankRun::Phase::kLeaving || rank.drain_until > now) continue;
    place.unusable = true;
    finish_rank(place, rank);
  }
  if (place.over()) return finish_place(place);
  if (is_due(place.retry_at)) spawn_waiting(place);
  if (place.over()) return finish_place(place);
  if (is_due(place.kill_at)) kill_place(place);
  if (is_due(place.timeout_at)) {
    return end_place(place, model::EndCause::kTimeout,
                     "ended after its max_duration of " + to_string(place.start.max_duration),
                     place.start.grace);
  }
  reschedule(place);
}

void Supervisor::look_at_running(Duration now) {
  look_at_ = now + kLookEvery;
  const std::vector<std::uint64_t> numbers(running_.begin(), running_.end());
  for (const std::uint64_t number : numbers) {
    Place& place = *by_number_.at(number);
    output::JobOutput& output = jobs_.at(place.start.attempt.task.job)->output;
    for (RankRun& rank : place.ranks) {
      if (rank.lives()) output.trim(rank.output, place.start.max_log);
    }
    if (place.watched) watch_memory(place);
  }
}

// Resident memory is quick to read and counts shared pages several times: over the limit, the exact
// figure decides.
void Supervisor::watch_memory(Place& place) {
  std::vector<pid_t> all;
  for (const RankRun& rank : place.ranks) {
    if (rank.phase != RankRun::Phase::kRunning) continue;
    all.push_back(rank.pid);
    const std::vector<pid_t> below = descendants_of(rank.pid);
    all.insert(all.end(), below.begin(), below.end());
  }
  const Bytes limit = place.start.memory_max;
  Bytes used;
  for (const pid_t pid : all) used = used + resident_memory(pid);
  if (used <= limit) return;
  used = {};
  for (const pid_t pid : all) used = used + proportional_memory(pid);
  if (used <= limit) return;
  end_place(place, model::EndCause::kOutOfMemory,
            "used " + human(used) + " of its memory limit of " + human(limit) + ", kept " +
                std::string(describe(MemoryWay::kWatch)),
            Duration());
}

void Supervisor::drop_idle_jobs(Duration now) {
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    Job& job = *entry->second;
    if (job.places > 0 || job.idle_since + kJobIdleMax > now) {
      ++entry;
      continue;
    }
    (void)job.output.flush();
    job.folders.remove_lanes();
    entry = jobs_.erase(entry);
  }
}

}  // namespace runnel::runner
