#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "async/worker.h"
#include "base/ids.h"
#include "base/result.h"
#include "brain/brain.h"
#include "control/archive.h"
#include "control/disk_watch.h"
#include "control/durable_batch.h"
#include "control/home_time.h"
#include "control/recovery.h"
#include "env/clock.h"
#include "model/event.h"
#include "model/input.h"
#include "store/event_log.h"

namespace runnel::control {

// Opens the event log: at first, and anew after a failure that left it unusable. Called on the
// log's own thread.
using LogOpener = std::function<Result<std::unique_ptr<store::EventLog>>()>;

struct LogWriterOptions {
  // Two commits begin at least so far apart, so that a busy home groups its inputs instead of
  // waiting for the disk 10,000 times a second.
  Duration commit_interval_min = Duration::millis(5);
  std::int64_t snapshot_every_events = 50'000;
  // The wait before what nodes reported is tried again, when the disk took nothing.
  Duration retry_after = Duration::seconds(1);
  std::shared_ptr<HomeTime> time;  // None: a home that goes by the time of day.
  // How a log is folded, on the log's thread.
  std::function<Result<Recovered>(store::EventLog&, brain::Limits)> fold = recover;
  // Is shown each decision with events as it is made, and the state after it. It may be void yet.
  std::function<void(const model::Input&, const DurableBatch&, const brain::State&)> tap;
  brain::Limits limits = {};
};

// What became of one input.
struct Outcome {
  std::optional<Error> refusal;  // The input is durable all the same, if it had events.
  JobId job;                     // See brain::Decision.
  bool repeated = false;
  EventSeq last_event;  // The newest event when it was decided.
  std::optional<model::AttemptRef> attempt;
};

using OnDecided = std::function<void(const Outcome&)>;
// Asked right before an input is decided; its error is the answer instead.
using Guard = std::function<Result<void>()>;

enum class Settled : std::uint8_t { kDurable, kRolledBack };

// An observer that rests on durable events, as the reconciler and the watchers do.
class DurableObserver {
 public:
  virtual ~DurableObserver() = default;
  // Batches in order, without a gap; state() is the one after them or a later one.
  virtual void on_durable(std::vector<DurableBatch> batches) = 0;
  // A commit failed. Events that were decided and are not durable by now are void: state() was
  // replaced by what rests on durable events only.
  virtual void on_rolled_back() = 0;
  // Nothing can be decided any more (another process holds the log, or it is damaged).
  virtual void on_dead(const Error& error) = 0;
};

// The one owner of the brain and of the event log.
//
// Contract: decide() takes inputs in order, decides each at once, and returns when its batch is
//           durable. Batches that gather during a commit become durable together. When a commit
//           fails, the brain is made anew from the log, which also tells what the disk kept: all of
//           the commit, which is durable then as any other, or nothing, and then nothing of it was
//           accepted and every asker in it gets the error. What was decided meanwhile is void in
//           both cases. While the disk is short of room, what may wait for some is refused before
//           it is decided, and no snapshot is kept. What nodes reported (join, report, lost) and
//           Recovered are decided again until they can be kept. What frees room (a job is deleted,
//           cancelled or halted) has the room that the log holds for it. Who asks waits for as long
//           as the log cannot be read, and hears that the outcome is unknown once it never will be:
//           see is_dead(). settled() returns when all that state() rests on is durable: an answer
//           made from state() leaves after it.
// Limits:   kPendingInputsMax inputs and kPendingBytesMax of them wait for the disk; at either one
//           a user's request is kFull and a node's report waits.
// Threads:  loop only; the log is used on the worker "runnel-log" alone, what reads it on
//           "runnel-read", snapshots are copied and encoded on "runnel-snap". While it copies, the
//           loop only reads the state: who wants something decided waits.
// Lifetime: stop() is awaited before destruction; the observer outlives us.
// Why:      law 2. One disk write per input would be 200 inputs a second, and one per 5 ms is
//           10,000.
class LogWriter {
 public:
  static constexpr std::size_t kPendingInputsMax = 4'096;
  static constexpr std::size_t kPendingBytesMax = std::size_t{64} << 20;
  static constexpr Duration kReopenWaitMax = Duration::seconds(3);

  static Async<std::unique_ptr<LogWriter>> open(async::EventLoop& loop, env::Clock& clock,
                                                LogOpener opener, LogWriterOptions options = {});
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Before the first input.
  void observe(DurableObserver& observer) {
    CHECK(observer_ == nullptr, "a log writer has one observer");
    observer_ = &observer;
  }

  // `on_decided` is called when the input was decided, before anything is durable: it may look at
  // state() to prepare the answer that leaves when decide() returns. A node's input may be decided
  // twice; `guard` is asked each time.
  Async<Outcome> decide(model::Input input, OnDecided on_decided = {}, Guard guard = {});
  // kRolledBack: what state() showed is void and it was replaced; look again.
  Async<Settled> settled();
  // From here on a log that cannot be opened anew at once is dead, so that nobody who is to end
  // before stop() waits for it.
  void give_up() { giving_up_.stop(); }
  // Commits what was decided, keeps a snapshot and ends the threads.
  Async<void> stop();

  const brain::Brain& brain() const { return recovered_->brain; }
  const brain::State& state() const { return brain().state(); }
  EventSeq version_of(const JobId& job) const { return recovered_->versions.version_of(job); }
  Epoch epoch() const { return epoch_; }
  Time now() const;
  // Sentences about what opening set right.
  const std::vector<std::string>& notices() const { return notices_; }
  bool healthy() const { return phase_ == Phase::kOpen; }
  // The log cannot be used any more. What an error says was not accepted may be in it then, and is
  // found by who opens it next.
  bool is_dead() const { return phase_ == Phase::kDead; }
  // How long the disk has owed an answer or a log that can be used, if it owes one: to who writes
  // or to who reads, whoever waits for longer.
  std::optional<Duration> silent_for() const;
  // Why the log could not be opened anew at the last try; nothing while it can be used.
  const std::optional<Error>& opening_error() const { return opening_error_; }

  // Calls `function(log)` on the readers' thread, where no commit is waited for: for history and
  // the archive. It sees the log of one moment, with all that was durable when it began. While the
  // log is being opened anew it waits, kReopenWaitMax at most.
  template <typename T>
  Async<T> read(std::function<Result<T>(store::LogReader&)> function) {
    CO_TRY(co_await admit_read());
    const DiskWatch::Turn turn(reads_);
    Result<T> answer = co_await reading_->run([this, &function]() -> Result<T> {
      if (connection_ == nullptr) return log_is_away();
      return connection_->read(function);
    });
    co_return answer;
  }
  // Removes all that the archive has of a job.
  Async<void> remove_archived(JobId job);

 private:
  enum class Phase : std::uint8_t {
    kOpen,        // Inputs are decided.
    kRebuilding,  // A commit failed; the brain is being made anew.
    kWaiting,     // It is there, reports are waiting, and the disk is tried again soon.
    kDead,
  };
  // What the archive does with a job: it came back into the state, has left it, or first the one
  // and then the other.
  struct ArchiveMove {
    bool came_back = false;
    std::optional<LeavingJob> left;
  };

  // Someone who waits for a group to become durable. Lives in the waiting coroutine's frame.
  struct Ticket {
    store::Room room = store::Room::kOrdinary;
    Outcome outcome;
    std::optional<Error> failure;
    std::coroutine_handle<> waiting;
  };
  struct Parked;
  // What becomes durable together.
  struct Group {
    std::vector<store::Batch> batches;
    std::vector<DurableBatch> durable;
    store::ArchiveChange archive;
    std::map<JobId, ArchiveMove> moves;
    std::vector<Ticket*> tickets;
    std::size_t inputs = 0;
    std::size_t bytes = 0;
    store::Room room = store::Room::kOrdinary;  // What any input in it may use.
  };

  LogWriter(async::EventLoop& loop, env::Clock& clock, LogOpener opener, LogWriterOptions options);

  static Error log_is_away();
  Async<void> admit_read();
  Async<void> start();
  Result<void> open_log();
  Async<void> use_connection(std::unique_ptr<store::LogConnection> connection);
  void begin_time();
  bool must_wait() const;
  Async<void> admit(const model::Input& input);
  void decide_now(const model::Input& input, Ticket& ticket);
  void collect(const model::Input& input, brain::Decision decision);
  void follow(const DurableBatch& batch, std::vector<brain::Job> archived);
  void note_version(const model::Event& event, EventSeq seq);
  static Result<store::ArchiveChange> archive_change(store::EventLog& log, Group& group);
  Async<void> look_for_room();
  bool full() const;
  Group* undurable();

  Async<void> run_commits();
  Async<void> pace();
  Async<void> commit();
  Async<void> append(Group& group);
  Result<void> append_now(Group& group);
  void finish(Group& group);
  void settle_tickets(Group& group, const std::optional<Error>& failure);
  // What the log holds after a commit failed.
  struct Rebuilt {
    Recovered recovered;
    bool has_group = false;                                 // That of the commit.
    std::unique_ptr<store::LogConnection> connection = {};  // Null: not opened anew.
  };
  Async<void> roll_back(Group& group, Error error);
  Async<Rebuilt> rebuild(const Group& group, Error error);
  enum class Reopen : std::uint8_t { kNo, kYes };
  Async<Rebuilt> recover_log(const Group& group, Reopen reopen);
  void take(Rebuilt rebuilt, Group& group);
  enum class Reports : std::uint8_t { kNone, kToDecideAgain };
  static Reports reports_of(const Group& group);
  void go_on(Reports void_reports);
  void die(Error error);
  bool snapshot_is_due() const;
  Async<brain::State> copy_state();
  Async<void> save_snapshot(brain::State state, BatchSeq through);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const LogOpener opener_;
  const LogWriterOptions options_;
  DurableObserver* observer_ = nullptr;

  DiskWatch disk_;
  DiskWatch reads_;
  std::unique_ptr<async::Worker> worker_;
  std::unique_ptr<async::Worker> reading_;
  std::unique_ptr<async::Worker> encoder_;
  std::unique_ptr<store::EventLog> log_;              // The worker's.
  std::unique_ptr<store::LogConnection> connection_;  // The reading worker's.
  Epoch epoch_;
  // From here time is counted by the clock since boot: a time of day that is set back would stop
  // every back-off until it has caught up.
  Time opened_at_;
  Duration opened_boot_;
  std::vector<std::string> notices_;

  std::unique_ptr<Recovered> recovered_;
  BatchSeq last_batch_;                     // Decided.
  std::int64_t events_since_snapshot_ = 0;  // Decided since one was last begun.
  bool snapshot_running_ = false;
  bool copying_ = false;  // The encoder reads the state; nothing is decided meanwhile.

  bool is_short_ = false;  // The disk, at the last look: what may wait is refused undecided.
  Phase phase_ = Phase::kOpen;
  Error phase_error_;
  Group group_;  // Gathers for the next commit.
  Group* committing_ = nullptr;
  std::size_t waiting_reports_ = 0;
  Duration last_commit_;                // Boot time at which it began.
  Duration rebuilding_since_;           // Boot time, while that is the phase.
  std::optional<Error> opening_error_;  // The same.
  async::Notifier work_;
  async::Notifier phase_changed_;
  async::Timer retry_;
  async::StopSource giving_up_;
  async::Gate gate_;
  bool stopped_ = true;
};

}  // namespace runnel::control
