#include "control/controller.h"

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "control/job_document.h"
#include "control/leftovers.h"
#include "control/trial_document.h"

namespace runnel::control {
namespace {

constexpr std::size_t kFilesQueueMax = 1'024;
constexpr std::size_t kMatchesShownMax = 10;
// A record is in a batch twice, with the input and with its event, and a batch has 64 MiB.
constexpr Bytes kRestoredMax = Bytes::mebi(16);

std::string unwiped_secrets(const JobId& job, const Error& error) {
  return "secrets/ still holds values of job " + job.str() +
         ", which needs them no more: " + error.to_string() +
         "; the next start of the daemon tries again";
}

std::string unknown_secrets(const std::vector<JobId>& jobs) {
  std::string names;
  for (std::size_t i = 0; i < std::min(jobs.size(), kMatchesShownMax); ++i) {
    names += (i == 0 ? "" : ", ") + jobs[i].str();
  }
  return "secrets/ keeps the values of " + std::to_string(jobs.size()) +
         (jobs.size() == 1 ? " job" : " jobs") + " that the event log does not know (" + names +
         (jobs.size() > kMatchesShownMax ? ", ..." : "") +
         "): the log was repaired, or replaced by an older or another one. If no log that knows "
         "the job comes back, remove its file "
         "there.";
}

using Verb = model::JobRequest::Verb;

Error ambiguous(const std::string& prefix, const std::vector<std::string>& matches) {
  std::string list;
  for (const std::string& match : matches) list += (list.empty() ? "" : ", ") + match;
  return Error(Errc::kConflict, "several jobs begin with '" + prefix + "': " + list)
      .with_field("id")
      .with_value(prefix)
      .with_hint("give more of the id");
}

std::vector<std::string> matches_in(const brain::State& state, const std::string& prefix) {
  std::vector<std::string> matches;
  for (auto job = state.jobs.lower_bound(JobId(prefix)); job != state.jobs.end(); ++job) {
    if (job->first.str().compare(0, prefix.size(), prefix) != 0) break;
    if (matches.size() >= kMatchesShownMax) break;
    matches.push_back(job->first.str());
  }
  return matches;
}

Error busy(const JobId& job) {
  return Error(Errc::kConflict,
               "somebody else asked for a change of job " + job.str() + " just now")
      .with_value(job.str())
      .with_hint("try again in a second");
}

Error too_large_to_restore(const JobId& job, std::size_t bytes) {
  return Error(Errc::kUnsupported, "job " + job.str() + " was archived, and its record of " +
                                       human(Bytes::count(static_cast<std::int64_t>(bytes))) +
                                       " is larger than the " + human(kRestoredMax) +
                                       " that can be taken back")
      .with_value(job.str())
      .with_hint("submit it anew");
}

// Many jobs in one millisecond have ids that run ahead of the clock.
Time newest_time(const brain::State& state) {
  if (state.jobs.empty()) return state.now;
  return std::max(state.now, time_of(state.jobs.rbegin()->first));
}

// If-Match: whoever decided by what a job was must not change what it has become.
Result<void> check_version(EventSeq asked, EventSeq is) {
  if (asked == is) return {};
  return Error(Errc::kPrecondition,
               "the job changed meanwhile: it is at version " + std::to_string(is.value()))
      .with_field("If-Match")
      .with_value(std::to_string(asked.value()))
      .with_hint("read it again, then decide");
}

}  // namespace

// Marks a job for as long as a call about it is not decided.
class Controller::Undecided {
 public:
  Undecided(std::multiset<JobId>& jobs, const JobId& job) : jobs_(jobs), at_(jobs.insert(job)) {}
  ~Undecided() { end(); }
  Undecided(const Undecided&) = delete;
  Undecided& operator=(const Undecided&) = delete;

  void end() {
    if (at_) jobs_.erase(*std::exchange(at_, std::nullopt));
  }

 private:
  std::multiset<JobId>& jobs_;
  std::optional<std::multiset<JobId>::iterator> at_;
};

Controller::Controller(async::EventLoop& loop, env::Clock& clock, Secrets& secrets,
                       ControllerOptions options)
    : loop_(loop),
      clock_(clock),
      secrets_(secrets),
      options_(std::move(options)),
      files_disk_(clock),
      wiped_(loop),
      job_ended_(loop),
      wake_(loop),
      gate_(loop),
      recovered_gate_(loop) {}

Controller::~Controller() { CHECK(writer_ == nullptr, "a controller was destroyed before stop()"); }

Async<std::unique_ptr<Controller>> Controller::open(async::EventLoop& loop, env::Clock& clock,
                                                    LogOpener opener, Secrets& secrets,
                                                    ControllerOptions options) {
  std::unique_ptr<Controller> controller(new Controller(loop, clock, secrets, std::move(options)));
  Result<void> started = co_await controller->start(std::move(opener));
  if (started.ok()) co_return controller;
  Result<void> stopped = co_await controller->stop();
  CHECK(stopped.ok(), "stopping a controller that did not start failed");
  co_return std::move(started).error();
}

Async<void> Controller::start(LogOpener opener) {
  writer_ = CO_TRY(co_await LogWriter::open(loop_, clock_, std::move(opener), options_.log));
  files_ = CO_TRY(async::Worker::create(loop_, {"runnel-files", kFilesQueueMax}));
  hub_ = std::make_unique<EventHub>(loop_, *writer_);
  nodes_ = std::make_unique<Nodes>(loop_, clock_, *writer_, options_.node_lease);
  ids_.emplace(options_.salt, newest_time(state()));
  notices_ = writer_->notices();
  writer_->observe(*this);
  CO_TRY(nodes_->start());
  // Before anything is due: who was silent may have spoken to nobody.
  CO_TRY(loop_.spawn(recovered_gate_, tell_recovered()));
  arm_wake();
  co_return co_await sweep_secrets();
}

Async<void> Controller::stop() {
  wake_.cancel();
  give_up();
  CO_TRY(co_await gate_.close());
  if (files_ != nullptr) {
    CO_TRY(co_await files_->stop());
  }
  if (writer_ == nullptr) co_return co_await recovered_gate_.close();
  // Before the nodes' work ends: what they told waits for the disk as long as the writer does.
  Result<void> stopped = co_await writer_->stop();
  CO_TRY(co_await recovered_gate_.close());
  if (nodes_ != nullptr) {
    CO_TRY(co_await nodes_->stop());
  }
  nodes_.reset();
  hub_.reset();
  writer_.reset();
  co_return stopped;
}

// --- Users.

Async<Answer> Controller::submit(Submission submission, model::Principal asks, std::string key) {
  CHECK(submission.spec != nullptr, "a submission without a specification");
  model::Submit input;
  input.job = ids_->next(writer_->now());
  input.project = std::move(asks.project);
  input.actor = std::move(asks.actor);
  input.owner = std::move(submission.owner);
  input.idempotency_key = std::move(key);
  input.body_hash = std::move(submission.fingerprint);
  input.spec = std::move(submission.spec);
  const JobId job = input.job;
  const bool secrets = !submission.secrets.empty();
  if (secrets) {
    CO_TRY(co_await keep_secrets(job, std::move(submission.secrets), Secrets::Taken::kNotYet));
  }
  Answer answer;
  OnDecided on_decided = document_into(answer);
  Result<Outcome> outcome = co_await writer_->decide(std::move(input), std::move(on_decided));
  const bool taken = outcome.ok() && !outcome->refusal && !outcome->repeated;
  if (secrets && !taken && !is_unknown(outcome)) {
    CO_TRY(co_await wipe_secrets(job));
  }
  if (secrets && taken) {
    Result<void> settled = co_await settle_secrets(job);
    (void)settled;  // Then the next start does it: the log has the job.
  }
  answer.outcome = CO_TRY(std::move(outcome));
  co_return answer;
}

void Controller::give_up() {
  if (writer_ != nullptr) writer_->give_up();
}

// The log that is opened next tells whether the job is there, and what becomes of its values then:
// see sweep_secrets().
bool Controller::is_unknown(const Result<Outcome>& outcome) const {
  return !outcome.ok() && writer_->is_dead();
}

// A full disk does not keep the control from opening.
Async<void> Controller::tell_recovered() {
  CO_TRY(co_await writer_->decide(model::Recovered()));
  co_return {};
}

// The answer's document is made when its input is decided: made later, it would have to wait for
// whatever was decided after it.
OnDecided Controller::document_into(Answer& answer) const {
  return [this, &answer](const Outcome& outcome) {
    auto job = state().jobs.find(outcome.job);
    if (job == state().jobs.end()) return;
    answer.version = writer_->version_of(outcome.job);
    answer.document = job_document(job->second, answer.version);
  };
}

Async<FormerJob> Controller::former_job(JobId job) {
  co_return co_await read_settled<FormerJob>(
      [&job](store::LogReader& log) { return read_former_job(log, job); });
}

// A record that an earlier build archived has no version that anybody could have read.
Async<void> Controller::check_archived_version(JobId job, EventSeq version) {
  const FormerJob former = CO_TRY(co_await former_job(job));
  co_return check_version(version, former.version);
}

Async<void> Controller::remove_archived(JobId job, std::optional<EventSeq> version) {
  if (undecided_.contains(job)) co_return busy(job);
  const bool first = removing_.insert(job).second;
  Result<void> removed;
  if (version) removed = co_await check_archived_version(job, *version);
  if (removed.ok()) removed = co_await writer_->remove_archived(job);
  if (first) removing_.erase(job);
  CO_TRY(std::move(removed));
  nodes_->remove(job);
  co_return {};
}

Async<void> Controller::check_call(JobCall& call) {
  const auto live = state().jobs.find(call.job);
  if (live != state().jobs.end()) {
    co_return check_call(call, live->second, writer_->version_of(call.job));
  }
  FormerJob former = CO_TRY(co_await former_job(call.job));
  if (former.job == nullptr) co_return only_the_record(call.job);
  if (Bytes::count(std::ssize(former.record)) > kRestoredMax) {
    co_return too_large_to_restore(call.job, former.record.size());
  }
  call.record = std::move(former.record);
  co_return check_call(call, *former.job, former.version);
}

Result<void> Controller::check_call(const JobCall& call, const brain::Job& job,
                                    EventSeq version) const {
  if (call.version) TRY(check_version(*call.version, version));
  const model::JobSpec& spec = *job.spec;
  const bool starts = call.verb == Verb::kResume || call.verb == Verb::kRetry;
  const bool refused = job.status == model::Status::kSucceeded;  // Whatever it brings.
  if (!starts || refused || !needs_values(spec)) return {};
  const bool has_them = with_secrets_.contains(call.job) && !wiping_.contains(call.job);
  if (call.secrets.empty() && has_them) return {};
  return check_secrets(spec, call.secrets);
}

Async<Outcome> Controller::keep_and_decide(JobCall call, OnDecided on_decided) {
  if (!call.secrets.empty()) {
    CO_TRY(co_await keep_secrets(call.job, std::move(call.secrets), Secrets::Taken::kYes));
  }
  model::Input input =
      model::JobRequest{call.verb, call.job, std::move(call.actor), std::move(call.record)};
  co_return co_await writer_->decide(std::move(input), std::move(on_decided));
}

Async<Answer> Controller::call(JobCall call) {
  const JobId job = call.job;
  const bool deletes = call.verb == Verb::kDelete;
  // Two that read the same record would bring the job back twice, the second time as it was before.
  const bool former = !state().jobs.contains(job);
  if (former && (removing_.contains(job) || undecided_.contains(job))) co_return busy(job);
  Undecided undecided(undecided_, job);
  CO_TRY(co_await check_call(call));
  Answer answer;
  OnDecided document = document_into(answer);
  Result<Outcome> outcome =
      co_await keep_and_decide(std::move(call), [&undecided, &document](const Outcome& decided) {
        undecided.end();
        document(decided);
      });
  undecided.end();
  if (is_unknown(outcome)) co_return std::move(outcome).error();
  const bool taken = outcome.ok() && !outcome->refusal;
  if ((!taken || deletes) && left_over(job)) {
    CO_TRY(co_await wipe_secrets(job));
  }
  answer.outcome = CO_TRY(std::move(outcome));
  co_return answer;
}

Async<Answer> Controller::call_trial(model::TrialCall call) {
  Answer answer;
  const JobId id = call.job;
  const StepIndex step = call.step;
  answer.outcome = CO_TRY(
      co_await writer_->decide(std::move(call), [this, &answer, id, step](const Outcome& decided) {
        const auto job = state().jobs.find(id);
        if (decided.refusal || job == state().jobs.end()) return;
        answer.document = trial_answer(job->second, step, decided.attempt);
      }));
  co_return answer;
}

Async<JobId> Controller::find_job(std::string prefix) {
  if (!is_job_id_prefix(prefix)) co_return no_such_job(prefix);
  if (state().jobs.contains(JobId(prefix))) co_return JobId(prefix);
  std::vector<std::string> matches = CO_TRY(co_await read_settled<std::vector<std::string>>(
      [prefix](store::LogReader& log) { return log.archive_keys(prefix, kMatchesShownMax); }));
  for (std::string& live : matches_in(state(), prefix)) matches.push_back(std::move(live));
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  if (matches.empty()) co_return no_such_job(prefix);
  if (matches.size() > 1) co_return ambiguous(prefix, matches);
  co_return JobId::parse(matches.front());
}

bool Controller::unfinished() const { return brain::has_work(state()); }

std::optional<Duration> Controller::disk_silent_for() const {
  return std::max(writer_->silent_for(), files_disk_.silent_for());
}

// --- Durable events.

void Controller::on_durable(std::vector<DurableBatch> batches) {
  CHECK(!batches.empty(), "a commit of nothing");
  hub_->publish(batches);
  std::vector<model::Event> events;
  const DurableBatch& last = batches.back();
  const EventSeq through(last.first_event.value() + std::ssize(last.events) - 1);
  for (DurableBatch& batch : batches) {
    notice_ends(batch);
    std::move(batch.events.begin(), batch.events.end(), std::back_inserter(events));
  }
  nodes_->on_durable(events, through);
  arm_wake();
}

void Controller::notice_ends(const DurableBatch& batch) {
  for (const model::Event& event : batch.events) {
    const auto* changed = std::get_if<model::JobChanged>(&event);
    if (changed == nullptr || !model::is_end(changed->to)) continue;
    job_ended_.notify_all();
    if (left_over(changed->job)) wipe_later(changed->job);
  }
}

void Controller::on_rolled_back() {
  nodes_->on_rolled_back();
  arm_wake(options_.log.retry_after);  // What is due meets the same disk.
}

void Controller::on_dead(const Error& error) {
  wake_.cancel();
  if (options_.on_dead) options_.on_dead(error);
}

void Controller::arm_wake(Duration least) {
  if (gate_.closed()) return;
  const Time now = writer_->now();
  const std::optional<Time> next = writer_->brain().next_wake(now);
  if (!next) return wake_.cancel();
  const Duration delay = std::clamp(*next - now, least, kWakeDelayMax);
  // One that rings before that arms the next; put off by every commit, it might never ring.
  if (wake_.active() && wake_at_ <= clock_.boot() + delay) return;
  wake_at_ = clock_.boot() + delay;
  wake_.start(delay, [this] {
    Result<void> begun = loop_.spawn(gate_, wake());
    (void)begun;  // Stopping.
  });
}

Async<void> Controller::wake() {
  Result<Outcome> outcome = co_await writer_->decide(model::Wake{});
  arm_wake(outcome.ok() ? kWakeDelayMin : options_.log.retry_after);
  co_return {};
}

// --- Secrets.

bool Controller::has_ended(const JobId& job) const {
  auto found = state().jobs.find(job);
  return found == state().jobs.end() || model::is_end(found->second.status);
}

bool Controller::left_over(const JobId& job) const {
  return with_secrets_.contains(job) && has_ended(job) && !undecided_.contains(job);
}

Async<void> Controller::keep_secrets(JobId job, SecretValues values, Secrets::Taken taken) {
  while (wiping_.contains(job)) {  // Or what is stored now would be wiped.
    CO_TRY(co_await wiped_.wait(gate_.token()));
  }
  CHECK(!values.empty(), "secrets without values are kept");
  with_secrets_.insert(job);
  const DiskWatch::Turn turn(files_disk_);
  Result<void> kept = co_await files_->run(
      [this, &job, &values, taken] { return secrets_.put(job, values, taken); });
  co_return kept;
}

Async<void> Controller::settle_secrets(JobId job) {
  CHECK(files_ != nullptr, "secrets are settled before the files of the home are there");
  const DiskWatch::Turn turn(files_disk_);
  co_return co_await files_->run([this, &job] { return secrets_.settle(job); });
}

// Those that were stored for a submission which was never taken. What the log may have known and
// lost was settled before.
Async<std::vector<JobId>> Controller::wipe_untaken(std::vector<JobId> unknown) {
  std::vector<JobId> kept;
  for (const JobId& job : unknown) {
    Result<bool> asked =
        co_await files_->run([this, &job] { return Result<bool>(secrets_.is_unsettled(job)); });
    CHECK(!with_secrets_.contains(job), "a job that the log does not know has secrets here");
    if (!CO_TRY(std::move(asked))) {
      kept.push_back(job);
      continue;
    }
    CO_TRY(co_await wipe_or_tell(job));
  }
  co_return kept;
}

Async<void> Controller::wipe_secrets(JobId job) {
  with_secrets_.erase(job);
  wiping_.insert(job);
  const DiskWatch::Turn turn(files_disk_);
  Result<void> wiped = co_await files_->run([this, &job] { return secrets_.wipe(job); });
  wiping_.erase(job);
  wiped_.notify_all();
  co_return wiped;
}

// What cannot be removed is no reason not to open the home: the next start tries again. These are
// of jobs that ended when the process before us died. A log that does not know a job cannot say
// that it ended.
Async<void> Controller::sweep_secrets() {
  const std::vector<JobId> jobs = CO_TRY(co_await files_->run([this] { return secrets_.jobs(); }));
  std::vector<JobId> unnamed = CO_TRY(co_await leftovers(this, jobs)).unknown;
  const std::set<JobId> unknown(unnamed.begin(), unnamed.end());
  const std::vector<JobId> kept = CO_TRY(co_await wipe_untaken(std::move(unnamed)));
  if (!kept.empty()) notices_.push_back(unknown_secrets(kept));
  for (const JobId& job : jobs) {
    if (unknown.contains(job)) continue;
    with_secrets_.insert(job);
    Result<void> done = co_await settle_secrets(job);
    if (!done.ok()) tell_unwiped(job, done.error());
    if (done.ok() && has_ended(job)) done = co_await wipe_or_tell(job);
  }
  co_return {};
}

void Controller::tell_unwiped(const JobId& job, const Error& error) {
  std::string notice = unwiped_secrets(job, error);
  const bool is_told = std::find(notices_.begin(), notices_.end(), notice) != notices_.end();
  if (!is_told) notices_.push_back(std::move(notice));
}

// What cannot be wiped is told, and stops nobody.
Async<void> Controller::wipe_or_tell(JobId job) {
  const Result<void> wiped = co_await wipe_secrets(job);
  if (!wiped.ok()) tell_unwiped(job, wiped.error());
  co_return {};
}

void Controller::wipe_later(const JobId& job) {
  wiping_.insert(job);
  Result<void> begun = loop_.spawn(gate_, wipe_or_tell(job));
  if (!begun.ok()) wiping_.erase(job);  // Stopping: the next start sweeps.
}

}  // namespace runnel::control
