#include "runner/supervisor.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/clock.h"
#include "env/file_system.h"
#include "env/files.h"
#include "output/paths.h"
#include "output/reopened_output.h"
#include "runner/port.h"
#include "runner/preempt_file.h"
#include "runner/report_text.h"

namespace runnel::runner {
namespace {

constexpr std::int32_t kCannotRun = 126;  // As a shell's.

}  // namespace

// Starting, lanes and the records of what came of it. Ending is in supervisor_end.cc, processes are
// made in supervisor_spawn.cc, time passes in supervisor_time.cc.

Supervisor::Supervisor(SupervisorOptions options, Journal journal)
    : options_(std::move(options)),
      journal_(std::move(journal)),
      memory_groups_(options_.home_token),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      orphans_(options_.key) {
  CHECK(null_.valid(), "/dev/null cannot be opened");
  memory_groups_.remove_left();
}

void Supervisor::adopt(const std::vector<RankFact>& ended) {
  CHECK(places_.empty(), "records of a dead runner are adopted before anything starts");
  for (const RankFact& fact : ended) {
    CHECK(fact.state == RankFact::State::kEnded, "a dead runner's attempt was not ended");
    Ended& entry = ended_[{fact.node, fact.report.attempt}];
    if (entry.number == 0) entry.number = next_number_++;
    entry.ranks.push_back(fact);
    journal_.end(entry.number, fact);
  }
}

void Supervisor::start(PlaceStart start) {
  const PlaceKey key{start.node, start.attempt};
  if (places_.contains(key) || ended_.contains(key)) return;
  if (places_.size() >= kPlacesMax || ended_.size() >= kEndedMax) {
    return refuse(start, "the node's runner is full: " + std::to_string(kPlacesMax) +
                             " attempts wait or " + std::to_string(kEndedMax) +
                             " exit records were never collected");
  }
  auto place = std::make_unique<Place>();
  place->number = next_number_++;
  for (std::int32_t i = 0; i < start.rank_count(); ++i) {
    RankRun rank;
    rank.fact.node = start.node;
    rank.fact.report.attempt = start.attempt;
    rank.fact.report.rank = start.first_rank + i;
    place->ranks.push_back(std::move(rank));
  }
  const LaneKey lane{start.node, start.lane};
  place->start = std::move(start);
  by_number_[place->number] = place.get();
  lanes_[lane].queue.push_back(place.get());
  ready_lanes_.insert(lane);
  places_.emplace(key, std::move(place));
}

// Not recorded: the agent is told, and if it does not hear it, it asks again.
void Supervisor::refuse(const PlaceStart& start, const std::string& message) {
  for (std::int32_t i = 0; i < start.rank_count(); ++i) {
    RankFact fact;
    fact.node = start.node;
    fact.state = RankFact::State::kEnded;
    fact.report.attempt = start.attempt;
    fact.report.rank = start.first_rank + i;
    fact.report.ended = true;
    fact.report.ended_at = env::real_clock().wall();
    fact.report.cause = model::EndCause::kNotStarted;
    fact.report.message = report_text(message);
    news_.push_back(std::move(fact));
  }
}

// Every rank that has no process yet never gets one. One that has exited so is, as under a shell, a
// command that cannot run.
void Supervisor::withdraw(Place& place, const std::string& message, model::EndCause cause) {
  for (RankRun& rank : place.ranks) {
    if (rank.phase != RankRun::Phase::kWaiting) continue;
    rank.fact.report.cause = cause;
    rank.fact.report.code = cause == model::EndCause::kExited ? kCannotRun : 0;
    rank.fact.report.message = message;
    rank.fact.report.ended_at = env::real_clock().wall();
    if (rank.has_output) {
      output::JobOutput& output = jobs_.at(place.start.attempt.task.job)->output;
      output.end(rank.output, place.start.max_log, rank.fact.report.ended_at);
    }
    record_end(place, rank);
  }
}

void Supervisor::run_lanes() {
  for (int begun = 0; begun < kBeginsPerTurn && !ready_lanes_.empty(); ++begun) {
    const LaneKey key = ready_lanes_.extract(ready_lanes_.begin()).value();
    advance(key);
  }
}

// Starts the next place of the lane, if it is its turn.
void Supervisor::advance(const LaneKey& key) {
  const auto found = lanes_.find(key);
  if (found == lanes_.end() || found->second.running != nullptr) return;
  Lane& lane = found->second;
  if (lane.queue.empty()) {
    lanes_.erase(found);
    return;
  }
  Place& place = *lane.queue.front();
  if (begin(place) == Begun::kLater) {
    blocked_lanes_.insert(key);
    disk_retry_at_ = env::real_clock().boot() + kDiskRetryEvery;
    return;
  }
  lane.queue.pop_front();
  lane.running = &place;
  if (place.over()) finish_place(place);
}

Supervisor::Begun Supervisor::begin(Place& place) {
  if (place.start.port_check != 0 && !port_is_free(place.start.port_check)) {
    withdraw(place, "port " + std::to_string(place.start.port_check) + " is taken",
             model::EndCause::kPortBusy);
    return Begun::kYes;
  }
  if (!place.prepared && is_disk_full()) return Begun::kLater;  // It would fail for that.
  const Result<void> ready = prepare(place);
  if (!ready.ok() && ready.error().code == Errc::kFull) return Begun::kLater;
  if (!ready.ok()) {
    const bool stays_so = ready.error().code == Errc::kInvalid;
    withdraw(place, ready.error().to_string(),
             stays_so ? model::EndCause::kExited : model::EndCause::kNotStarted);
    return Begun::kYes;
  }
  running_.insert(place.number);
  const Duration now = env::real_clock().boot();
  if (!place.start.max_duration.is_zero()) place.timeout_at = now + place.start.max_duration;
  place.retry_until = now + kSpawnRetryMax;
  if (look_at_.is_zero()) look_at_ = now + kLookEvery;
  spawn_waiting(place);
  reschedule(place);
  return Begun::kYes;
}

bool Supervisor::is_disk_full() const {
  const Result<Bytes> space = env::free_space(options_.home);
  const Result<std::optional<std::int64_t>> inodes = env::free_inodes(options_.home);
  return (space.ok() && *space < env::kSpaceLeast) || (inodes.ok() && inodes->value_or(1) == 0);
}

// Slot, folder, output and records of the start, written down before a process exists. May be
// called again after kFull: it goes on where it was.
Result<void> Supervisor::prepare(Place& place) {
  Job* job = TRY(job_of(place.start.attempt.task.job));
  if (!place.prepared) {
    place.prepared = true;
    ++job->places;
    place.slot = job->output.take_slot(output::names_own_output(place.start.argv)
                                           ? output::JobOutput::SlotUse::kAlone
                                           : output::JobOutput::SlotUse::kShared);
    lend_memory(place);
  }
  if (place.folder.path.empty()) {
    place.folder = TRY(job->folders.take(place.slot, place.start.attempt, place.start.task_folder,
                                         place.start.checkpoint_dir));
    // A runner that died may have left it.
    if (place.start.attempt.attempt.value() > 1) remove_preempt_file(place.folder.path);
  }
  for (RankRun& rank : place.ranks) {
    const Time now = env::real_clock().wall();
    if (rank.has_output) continue;
    rank.output =
        TRY(job->output.begin(place.slot, rank.fact.report.rank, place.start.attempt, now));
    rank.has_output = true;
    rank.started = env::real_clock().boot();
    rank.fact.report.started_at = now;
    journal_.start(place.number, place.slot, rank.fact, rank.started);
  }
  return flush_for(place);
}

Result<void> Supervisor::flush_for(Place& place) {
  TRY(journal_.flush());
  pids_at_ = {};
  end_unwritten_ = false;
  return jobs_.at(place.start.attempt.task.job)->output.flush();
}

// Gives back what prepare() took.
void Supervisor::unprepare(Place& place) {
  if (!std::exchange(place.prepared, false)) return;
  Job& job = *jobs_.at(place.start.attempt.task.job);
  if (place.memory_group) memory_groups_.give_back(*std::move(place.memory_group));
  place.memory_group.reset();
  if (!place.folder.path.empty()) {
    if (place.forced) remove_preempt_file(place.folder.path);
    job.folders.give_back(place.slot, place.folder);
  }
  job.output.give_slot(place.slot, place.unusable ? output::JobOutput::SlotState::kUnusable
                                                  : output::JobOutput::SlotState::kClean);
  release_job(place.start.attempt.task.job);
}

void Supervisor::lend_memory(Place& place) {
  if (place.start.memory_max.is_zero()) return;
  if (memory_groups_.way() != MemoryWay::kWatch) {
    Result<MemoryGroup> group = memory_groups_.take(place.start.memory_max);
    if (group.ok()) place.memory_group = std::move(*group);
  }
  place.watched = !place.memory_group.has_value();
}

void Supervisor::record_end(Place& place, RankRun& rank) {
  CHECK(rank.phase != RankRun::Phase::kEnded, "a rank ends twice");
  rank.phase = RankRun::Phase::kEnded;
  rank.fact.state = RankFact::State::kEnded;
  rank.fact.report.ended = true;
  rank.fact.report.message = report_text(std::move(rank.fact.report.message));
  journal_.end(place.number, rank.fact);
  end_unwritten_ = true;
  news(rank);
  Ended& entry = ended_[place.of()];
  entry.number = place.number;
  entry.ranks.push_back(rank.fact);
}

// News that replace ones not sent yet take their place: a short rank is told once, not twice.
void Supervisor::news(RankRun& rank) {
  if (rank.news_turn == news_turn_) {
    news_[rank.news_at] = rank.fact;
    return;
  }
  rank.news_turn = news_turn_;
  rank.news_at = news_.size();
  news_.push_back(rank.fact);
}

void Supervisor::finish_rank(Place& place, RankRun& rank) {
  CHECK(rank.leader_gone(), "a rank finishes that did not end");
  const auto found = pids_.find(rank.pid);
  if (found != pids_.end() && found->second.rank == &rank) pids_.erase(found);
  model::RankReport& report = rank.fact.report;
  // A rank that had a grace has ended with the last of its processes, not with the first.
  if (place.forced) report.ended_at = report.started_at + (env::real_clock().boot() - rank.started);
  output::JobOutput& output = jobs_.at(place.start.attempt.task.job)->output;
  output.end(rank.output, place.start.max_log, report.ended_at);
  record_end(place, rank);
}

void Supervisor::finish_place(Place& place) {
  CHECK(place.over(), "a place finishes while ranks of it live");
  running_.erase(place.number);
  draining_.erase(place.number);
  deadlines_.erase({place.scheduled, place.number});
  by_number_.erase(place.number);
  unprepare(place);
  const LaneKey lane{place.start.node, place.start.lane};
  const auto found = lanes_.find(lane);
  CHECK(found != lanes_.end(), "a place finishes in a lane that is gone");
  if (found->second.running == &place) found->second.running = nullptr;
  ready_lanes_.insert(lane);
  places_.erase(place.of());
}

void Supervisor::stop(const PlaceStop& stop) {
  const auto found = places_.find(stop.of);
  if (found == places_.end()) return;
  Place& place = *found->second;
  const bool queued = !running_.contains(place.number);
  if (!queued) {
    if (stop.reason == model::StopReason::kWithdrawn) return;
    if (stop.reason == model::StopReason::kPreempted && !place.forced) {
      write_preempt_file(place.folder.path, env::real_clock().wall() + stop.grace);
    }
    end_place(place, model::EndCause::kStopped, {}, stop.grace);
    return;
  }
  Lane& lane = lanes_.at({place.start.node, place.start.lane});
  std::erase(lane.queue, &place);
  withdraw(place, "stopped before it started", model::EndCause::kNotStarted);
  finish_place(place);
}

void Supervisor::forget(const AttemptOnNode& of) {
  const auto found = ended_.find(of);
  // It is too early while ranks of it live: their ends are yet to come.
  if (found == ended_.end() || places_.contains(of)) return;
  journal_.forget(found->second.number);
  end_unwritten_ = true;
  ended_.erase(found);
}

void Supervisor::remove_job(const JobId& job) {
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && found->second->places == 0) jobs_.erase(found);
}

Result<Supervisor::Job*> Supervisor::job_of(const JobId& id) {
  const auto found = jobs_.find(id);
  // While it rests its folder may be removed, and then its output would go where nobody finds it.
  const bool is_lost =
      found != jobs_.end() && found->second->places == 0 && !found->second->output.is_in_place();
  if (found != jobs_.end() && !is_lost) return found->second.get();
  if (is_lost) jobs_.erase(found);
  TRY(env::make_directories(output::job_folder(options_.home, id) + "/shared"));
  output::JobOutput output = TRY(output::JobOutput::open(options_.home, id));
  auto job = std::make_unique<Job>(std::move(output), TaskFolders(options_.home, id));
  return jobs_.emplace(id, std::move(job)).first->second.get();
}

void Supervisor::release_job(const JobId& id) {
  Job& job = *jobs_.at(id);
  CHECK(job.places > 0, "a job is released more often than it was taken");
  if (--job.places == 0) job.idle_since = env::real_clock().boot();
}

std::vector<RankFact> Supervisor::take_news() {
  ++news_turn_;
  return std::exchange(news_, {});
}

std::vector<RankFact> Supervisor::inventory() const {
  std::vector<RankFact> facts;
  for (const auto& [of, entry] : ended_) {
    facts.insert(facts.end(), entry.ranks.begin(), entry.ranks.end());
  }
  for (const auto& [of, place] : places_) {
    for (const RankRun& rank : place->ranks) {
      if (rank.phase != RankRun::Phase::kEnded) facts.push_back(rank.fact);
    }
  }
  return facts;
}

void Supervisor::flush() {
  run_lanes();
  // Errors are met again, and answered, where the next place starts. Pids alone may wait for more.
  if (end_unwritten_ || pids_at_ <= env::real_clock().boot()) {
    (void)journal_.flush();
    pids_at_ = {};
    end_unwritten_ = false;
  }
  for (auto& [id, job] : jobs_) (void)job->output.flush();
  const bool all_forgotten = places_.empty() && ended_.empty();
  const bool too_long =
      journal_.over_full() || (all_forgotten && journal_.bytes() > kJournalRestMax);
  if (too_long && journal_.in_place()) (void)rewrite_journal();
}

Result<void> Supervisor::restore_journal() {
  if (journal_.in_place()) return {};
  return rewrite_journal();
}

// The records still needed, in a new file.
Result<void> Supervisor::rewrite_journal() {
  Journal fresh = TRY(Journal::create(
      journal_.path(), {options_.boot, options_.incarnation, options_.home, options_.home_token}));
  for (const auto& [of, entry] : ended_) {
    for (const RankFact& fact : entry.ranks) fresh.end(entry.number, fact);
  }
  for (const std::uint64_t number : running_) {
    for (const RankRun& rank : by_number_.at(number)->ranks) {
      if (rank.phase == RankRun::Phase::kEnded) continue;
      fresh.start(number, by_number_.at(number)->slot, rank.fact, rank.started);
      if (rank.pid != 0) fresh.process(number, rank.fact.report.rank, rank.pid);
    }
  }
  Result<void> committed = fresh.commit();
  if (!committed.ok()) {
    fresh.remove();
    return committed;
  }
  journal_ = std::move(fresh);
  return {};
}

void Supervisor::close() {
  CHECK(places_.empty(), "the runner ends while it has attempts");
  for (auto& [id, job] : jobs_) job->folders.remove_lanes();
  jobs_.clear();
  if (ended_.empty()) return journal_.remove();
  journal_.end_cleanly();
  (void)journal_.flush();
}

}  // namespace runnel::runner
