#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/check.h"
#include "env/clock.h"
#include "output/metrics_file.h"
#include "output/paths.h"
#include "runner/preempt_file.h"
#include "runner/supervisor.h"

namespace runnel::runner {
void Supervisor::spawn_waiting(Place& place) {
  place.retry_at = {};
  for (RankRun& rank : place.ranks) {
    if (rank.phase == RankRun::Phase::kWaiting) spawn_rank(place, rank);
  }
}

FoundProgram Supervisor::program_of(const PlaceStart& start) {
  const std::string_view search_path = start.env.value_of("PATH");
  const std::string& name = start.argv.front();
  if (program_.name == name && program_.search_path == search_path &&
      program_.workdir == start.workdir) {
    return {program_.file, 0, {}};
  }
  FoundProgram found = find_program(name, std::string(search_path), start.workdir);
  if (found.file.starts_with('/')) {
    program_ = {name, std::string(search_path), start.workdir, found.file};
  }
  return found;
}

TextBlock Supervisor::own_variables(const Place& place, const RankRun& rank) const {
  const TaskFolder& folder = place.folder;
  TextBlock own;
  own.push_back("RUNNEL_JOB_DIR",
                output::job_folder(options_.home, place.start.attempt.task.job) + "/shared");
  own.push_back("RUNNEL_TASK_DIR", folder.path);
  own.push_back("RUNNEL_CHECKPOINT_DIR", folder.checkpoint);
  own.push_back("RUNNEL_METRICS_FILE", output::metrics_path(folder.path));
  own.push_back("RUNNEL_PREEMPT_FILE", preempt_path(folder.path));
  own.push_back(kAttemptKeyName, orphans_.key_of({place.number, rank.fact.report.rank}));
  if (folder.resume) own.push_back("RUNNEL_RESUME_FROM", folder.checkpoint);
  return own;
}

void Supervisor::spawn_rank(Place& place, RankRun& rank) {
  const PlaceStart& start = place.start;
  FoundProgram program = program_of(start);
  if (program.file.empty()) {
    return not_spawned(place, rank, {.code = program.code, .message = std::move(program.message)});
  }
  const TextBlock own = own_variables(place, rank);
  const auto at = static_cast<std::size_t>(rank.fact.report.rank - start.first_rank);
  CHECK(at < start.rank_env.size(), "a rank outside of its place");
  SpawnRequest request;
  request.file = std::move(program.file);
  request.argv = &start.argv;
  start.env.append_pointers(request.env);
  start.rank_env[at].append_pointers(request.env);
  own.append_pointers(request.env);
  request.env.push_back(nullptr);
  request.workdir = start.workdir.c_str();
  output::JobOutput& output = jobs_.at(start.attempt.task.job)->output;
  request.input = null_.get();
  request.output = output.descriptor(rank.output, model::LogStream::kOut);
  request.error = output.descriptor(rank.output, model::LogStream::kErr);
  if (options_.open_files) request.open_files = &*options_.open_files;
  request.file_mask = options_.file_mask;
  if (place.memory_group) request.memory_group = place.memory_group->processes.get();
  rank.started = env::real_clock().boot();
  rank.fact.report.started_at = env::real_clock().wall();
  SpawnOutcome outcome = spawn(request);
  if (outcome.pid <= 0 && !outcome.try_again && !std::exchange(program_.name, {}).empty()) {
    // The program that was found before may have gone since.
    FoundProgram again = program_of(start);
    request.file = again.file.empty() ? request.file : std::move(again.file);
    outcome = spawn(request);
  }
  outcome.pid > 0 ? spawned(place, rank, outcome.pid) : not_spawned(place, rank, outcome);
}

void Supervisor::spawned(Place& place, RankRun& rank, pid_t pid) {
  rank.pid = pid;
  rank.phase = RankRun::Phase::kRunning;
  rank.fact.state = RankFact::State::kRunning;
  pids_[pid] = {&place, &rank};
  ++live_leaders_;
  journal_.process(place.number, rank.fact.report.rank, pid);
  if (pids_at_.is_zero()) pids_at_ = env::real_clock().boot() + kPidsWithin;
  news(rank);
}

// A command that cannot run ends like the same command under a shell: 127 or 126 and a sentence,
// also in its own output. What the machine lacks right now is tried again.
void Supervisor::not_spawned(Place& place, RankRun& rank, const SpawnOutcome& outcome) {
  const Duration now = env::real_clock().boot();
  if (outcome.try_again && now < place.retry_until) {
    place.retry_at = now + kSpawnRetryEvery;
    return;
  }
  output::JobOutput& output = jobs_.at(place.start.attempt.task.job)->output;
  const std::string line = "runnel: " + outcome.message + "\n";
  const int error = output.descriptor(rank.output, model::LogStream::kErr);
  (void)!::write(error, line.data(), line.size());
  model::RankReport& report = rank.fact.report;
  report.cause = outcome.try_again ? model::EndCause::kNotStarted : model::EndCause::kExited;
  report.code = outcome.code;
  report.message = outcome.message;
  report.ended_at = env::real_clock().wall();
  output.end(rank.output, place.start.max_log, report.ended_at);
  record_end(place, rank);
}

}  // namespace runnel::runner
