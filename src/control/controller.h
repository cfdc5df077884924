#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/worker.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "control/archive.h"
#include "control/disk_watch.h"
#include "control/event_hub.h"
#include "control/job_id.h"
#include "control/log_writer.h"
#include "control/nodes.h"
#include "control/secrets.h"
#include "control/submission.h"
#include "env/clock.h"
#include "model/input.h"
#include "model/principal.h"

namespace runnel::control {

struct ControllerOptions {
  LogWriterOptions log;
  std::uint64_t salt = 0;              // See JobIdMaker.
  std::optional<Duration> node_lease;  // See Nodes; none in a home, whose nodes it speaks for.
  // Called once when nothing can be decided any more: the process should say why and end.
  std::function<void(const Error&)> on_dead;
};

// What somebody wants of one job.
struct JobCall {
  model::JobRequest::Verb verb = model::JobRequest::Verb::kCancel;
  JobId job;
  std::string actor;
  SecretValues secrets;             // Resume and retry: the old ones were wiped when the job ended.
  std::optional<EventSeq> version;  // If-Match.
  std::string record = {};          // For a job that has left the state; call() fills it in.
};

// What became of a user's request, with the job's document as it was decided; "" when it has left
// the state.
struct Answer {
  Outcome outcome;
  std::string document;
  EventSeq version;
};

// Control: inputs go down to the brain, durable events come back as orders to nodes and as history.
//
// Contract: what submit() and call() return is durable. Values of secrets are stored before the job
//           is and wiped when it ends. See Nodes for what goes to nodes and comes from them.
// Threads:  loop only; it owns the log writer's two threads and one named "runnel-files".
// Lifetime: open() .. stop(), which is awaited before destruction. Links are detached before that;
//           clock, secrets and loop outlive it. Callers have returned before stop() ends.
class Controller final : private DurableObserver {
 public:
  static Async<std::unique_ptr<Controller>> open(async::EventLoop& loop, env::Clock& clock,
                                                 LogOpener opener, Secrets& secrets,
                                                 ControllerOptions options = {});
  ~Controller() override;
  // Ends the waiting for a log that cannot be opened anew: see LogWriter.
  void give_up();
  Async<void> stop();

  // --- Users.

  // `key`: the Idempotency-Key, or "".
  Async<Answer> submit(Submission submission, model::Principal asks, std::string key);
  Async<Answer> call(JobCall call);
  // Removes the record of a job that has left the state, and its folders. kConflict while a call
  // about it is being decided, kPrecondition when it is not at `version` (If-Match).
  Async<void> remove_archived(JobId job, std::optional<EventSeq> version);
  // What the archive has of a job that has left the state. kNotFound when it has nothing.
  Async<FormerJob> former_job(JobId job);
  // The one job whose id begins with `prefix`, in the state or in the archive. kNotFound, or
  // kConflict naming several.
  Async<JobId> find_job(std::string prefix);

  // Sentences for a person about what the start found.
  const std::vector<std::string>& notices() const { return notices_; }

  // Returns when a job has ended, whichever.
  Async<void> any_job_ended(async::StopToken stop) { return job_ended_.wait(std::move(stop)); }

  // The answer's document is the trial's, as trial_answer() makes it.
  Async<Answer> call_trial(model::TrialCall call);
  // Makes an answer from the state and gives it out once all that it rests on is durable.
  template <typename T>
  Async<T> answer(std::function<Result<T>(const LogWriter&)> build) {
    for (;;) {
      Result<T> made = build(*writer_);
      const Settled outcome = CO_TRY(co_await writer_->settled());
      if (outcome == Settled::kDurable) co_return made;
    }
  }

  // Makes an answer from one job, wherever it is: in the state, as answer() does, or in the
  // archive. kGone where an earlier build archived it, of which there is a document only.
  template <typename T>
  Async<T> about(JobId job, std::function<Result<T>(const brain::Job&, EventSeq version)> make) {
    CHECK(make != nullptr, "an answer that nobody makes");
    for (;;) {
      std::optional<T> made = CO_TRY(co_await answer<std::optional<T>>(
          [&job, &make](const LogWriter& writer) -> Result<std::optional<T>> {
            const auto found = writer.state().jobs.find(job);
            if (found == writer.state().jobs.end()) return std::optional<T>();
            return std::optional<T>(TRY(make(found->second, writer.version_of(job))));
          }));
      if (made) co_return *std::move(made);
      Result<FormerJob> read = co_await former_job(job);
      if (!read.ok() && state().jobs.contains(job)) continue;  // It came back meanwhile.
      const FormerJob former = CO_TRY(std::move(read));
      if (former.job == nullptr) co_return only_the_record(job);
      co_return make(*former.job, former.version);
    }
  }

  // --- Nodes.

  Nodes& nodes() { return *nodes_; }

  // Whether there is anything left to do: a job that has not ended and is not halted.
  // O(unfinished).
  bool unfinished() const;
  LogWriter& writer() { return *writer_; }
  const brain::State& state() const { return writer_->state(); }
  EventHub& events() { return *hub_; }
  // How long the home's disk has owed an answer to a thread of control's, if it owes one.
  std::optional<Duration> disk_silent_for() const;
  const std::optional<Error>& log_opening_error() const { return writer_->opening_error(); }
  env::Clock& clock() const { return clock_; }

 private:
  static constexpr Duration kWakeDelayMin = Duration::millis(5);
  static constexpr Duration kWakeDelayMax = Duration::seconds(30);  // The time of day may jump.

  Controller(async::EventLoop& loop, env::Clock& clock, Secrets& secrets,
             ControllerOptions options);
  Async<void> start(LogOpener opener);

  void on_durable(std::vector<DurableBatch> batches) override;
  void on_rolled_back() override;
  void on_dead(const Error& error) override;

  // Reads the log once all that the state rests on is durable: a job that leaves the state is in
  // the archive from then on, and in neither before.
  template <typename T>
  Async<T> read_settled(std::function<Result<T>(store::LogReader&)> function) {
    CO_TRY(co_await writer_->settled());
    co_return co_await writer_->read<T>(std::move(function));
  }

  void arm_wake(Duration least = kWakeDelayMin);
  Async<void> wake();

  // Brings the record of a job that has left the state into the call.
  Async<void> check_call(JobCall& call);
  Result<void> check_call(const JobCall& call, const brain::Job& job, EventSeq version) const;
  Async<void> check_archived_version(JobId job, EventSeq version);
  Async<Outcome> keep_and_decide(JobCall call, OnDecided on_decided);
  bool is_unknown(const Result<Outcome>& outcome) const;
  Async<void> tell_recovered();
  OnDecided document_into(Answer& answer) const;
  void notice_ends(const DurableBatch& batch);
  Async<void> keep_secrets(JobId job, SecretValues values, Secrets::Taken taken);
  Async<void> settle_secrets(JobId job);
  Async<std::vector<JobId>> wipe_untaken(std::vector<JobId> unknown);
  Async<void> wipe_secrets(JobId job);
  Async<void> wipe_or_tell(JobId job);
  void tell_unwiped(const JobId& job, const Error& error);
  Async<void> sweep_secrets();
  void wipe_later(const JobId& job);
  bool has_ended(const JobId& job) const;
  // Whether values of the job's secrets are stored that nobody needs any more.
  bool left_over(const JobId& job) const;

  async::EventLoop& loop_;
  env::Clock& clock_;
  Secrets& secrets_;
  const ControllerOptions options_;

  std::unique_ptr<LogWriter> writer_;
  std::unique_ptr<EventHub> hub_;
  std::unique_ptr<async::Worker> files_;
  DiskWatch files_disk_;
  std::unique_ptr<Nodes> nodes_;
  std::optional<JobIdMaker> ids_;

  class Undecided;
  std::multiset<JobId> undecided_;  // Jobs of calls whose values may be stored before the decision.
  std::set<JobId> with_secrets_;    // Jobs that have values stored.
  std::set<JobId> wiping_;
  std::vector<std::string> notices_;
  std::set<JobId> removing_;  // From the archive.
  async::Notifier wiped_;

  async::Notifier job_ended_;
  async::Timer wake_;
  Duration wake_at_;  // When it rings, by the clock since boot, while it is active.
  async::Gate gate_;
  // Holds tell_recovered(), which waits for the disk as long as the writer.
  async::Gate recovered_gate_;
};

}  // namespace runnel::control
