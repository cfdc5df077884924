#include "control/log_writer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "control/room_of.h"
#include "json/writer.h"
#include "model/codec.h"
#include "store/checks.h"

namespace runnel::control {
namespace {

constexpr std::size_t kWorkerQueueMax = 4'096;
// There is always room for the one who opens or closes what they read from.
constexpr std::size_t kReadsMax = kWorkerQueueMax - 1;

// What an asker is told whose input could not be kept.
Error nothing_accepted(const Error& cause) {
  Error error = cause;
  error.message = "nothing was accepted: " + cause.message;
  if (cause.code == Errc::kFull) {
    error.with_hint(
        "free some space on the disk of the home; `runnel cancel`, `halt` and `delete` have room "
        "of their own; work goes on by itself then");
  }
  return error;
}

constexpr std::string_view kFreeByHand =
    "the room that the log holds for this is used up: remove files by hand, for instance outputs "
    "in the home's folder jobs";

// What an asker is told when nobody can find out what the disk kept.
Error unknown_outcome(const Error& cause) {
  Error error = cause;
  error.message = "it is not known whether this was accepted: " + cause.message;
  error.with_hint("look before you ask again, once the event log can be read");
  return error;
}

// Whether the log is as it was before an append that failed so.
bool leaves_log_alone(const Error& error) {
  return error.code == Errc::kFull || error.code == Errc::kPrecondition;
}

Error unread_outcome(const Error& cause) {
  return leaves_log_alone(cause) ? nothing_accepted(cause) : unknown_outcome(cause);
}

Error too_busy(std::size_t inputs) {
  return Error(Errc::kFull, std::to_string(inputs) + " requests wait for the disk")
      .with_hint("try again in a second");
}

// Errors after which opening the log again cannot help, or must not.
bool hopeless(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kPrecondition ||
         error.code == Errc::kUnsupported;
}

}  // namespace

// Suspends a coroutine until its ticket is settled.
struct LogWriter::Parked {
  Ticket& ticket;
  Group* group;  // Null: there is nothing to wait for.

  bool await_ready() const { return group == nullptr; }
  void await_suspend(std::coroutine_handle<> waiting) const {
    ticket.waiting = waiting;
    group->tickets.push_back(&ticket);
  }
  void await_resume() const {}
};

LogWriter::LogWriter(async::EventLoop& loop, env::Clock& clock, LogOpener opener,
                     LogWriterOptions options)
    : loop_(loop),
      clock_(clock),
      opener_(std::move(opener)),
      options_(std::move(options)),
      disk_(clock),
      reads_(clock),
      work_(loop),
      phase_changed_(loop),
      retry_(loop),
      gate_(loop) {}

LogWriter::~LogWriter() { CHECK(stopped_, "a log writer was destroyed before stop()"); }

Async<std::unique_ptr<LogWriter>> LogWriter::open(async::EventLoop& loop, env::Clock& clock,
                                                  LogOpener opener, LogWriterOptions options) {
  std::unique_ptr<LogWriter> writer(
      new LogWriter(loop, clock, std::move(opener), std::move(options)));
  Result<void> started = co_await writer->start();
  if (started.ok()) co_return writer;
  Result<void> stopped = co_await writer->stop();
  CHECK(stopped.ok(), "stopping a log writer that did not start failed");
  co_return std::move(started).error();
}

Async<void> LogWriter::start() {
  worker_ = CO_TRY(async::Worker::create(loop_, {"runnel-log", kWorkerQueueMax}));
  stopped_ = false;
  encoder_ = CO_TRY(async::Worker::create(loop_, {"runnel-snap", kWorkerQueueMax}));
  reading_ = CO_TRY(async::Worker::create(loop_, {"runnel-read", kWorkerQueueMax}));
  CO_TRY(co_await worker_->run([this] { return open_log(); }));
  last_batch_ = recovered_->head.last;
  events_since_snapshot_ = recovered_->events_since_snapshot;
  last_commit_ = clock_.boot() - options_.commit_interval_min;
  opened_boot_ = clock_.boot();
  CO_TRY(co_await worker_->run([this] { begin_time(); }));
  CO_TRY(co_await look_for_room());
  co_return loop_.spawn(gate_, run_commits());
}

Async<void> LogWriter::admit_read() {
  while (phase_ == Phase::kRebuilding) {
    if (CO_TRY(co_await phase_changed_.wait_for(kReopenWaitMax, gate_.token())) ==
        async::Wake::kTimeout)
      co_return log_is_away();
  }
  if (phase_ == Phase::kDead) co_return phase_error_;
  if (reading_->queued() < kReadsMax) co_return {};
  co_return too_busy(kReadsMax);
}

Result<void> LogWriter::open_log() {
  log_ = TRY(opener_());
  notices_ = log_->open_report().notices;
  epoch_ = TRY(log_->acquire_lease());
  recovered_ = std::make_unique<Recovered>(TRY(options_.fold(*log_, options_.limits)));
  recovered_->brain.catch_up_searches();
  connection_ = TRY(log_->connect());  // Nobody reads yet.
  return {};
}

// Readers of the log must be closed before the log is: the one that opens it next must be alone.
Async<void> LogWriter::use_connection(std::unique_ptr<store::LogConnection> connection) {
  const DiskWatch::Turn turn(reads_);
  co_return co_await reading_->run([this, &connection] { connection_ = std::move(connection); });
}

// Without work nothing is measured, and the time of day may be set right.
void LogWriter::begin_time() {
  const std::optional<Time> kept =
      options_.time && brain::has_work(state()) ? options_.time->kept(clock_) : std::nullopt;
  opened_at_ = std::max(state().now, kept.value_or(clock_.wall()));
  if (!kept && options_.time) options_.time->keep(opened_at_, clock_);
}

Async<void> LogWriter::stop() {
  if (stopped_) co_return {};
  stopped_ = true;
  give_up();
  retry_.cancel();
  CO_TRY(co_await gate_.close());
  CHECK(committing_ == nullptr, "a commit outlives the gate");
  CHECK(group_.tickets.empty(), "somebody waits for a commit that will not come");
  phase_changed_.notify_all();
  if (recovered_ != nullptr && phase_ == Phase::kOpen && !is_short_ && events_since_snapshot_ > 0) {
    Result<brain::State> copy = co_await copy_state();
    if (copy.ok()) {
      Result<void> saved = co_await save_snapshot(std::move(copy).value(), last_batch_);
      (void)saved;  // Only the next start takes longer.
    }
  }
  if (reading_ != nullptr) {
    CO_TRY(co_await use_connection(nullptr));
    CO_TRY(co_await reading_->stop());
  }
  CO_TRY(co_await worker_->run([this] { log_.reset(); }));
  CO_TRY(co_await worker_->stop());
  if (encoder_ == nullptr) co_return {};
  co_return co_await encoder_->stop();
}

Time LogWriter::now() const {
  return std::max(state().now, opened_at_ + (clock_.boot() - opened_boot_));
}

Error LogWriter::log_is_away() {
  return Error(Errc::kUnavailable, "the event log is being opened anew")
      .with_hint("try again in a second");
}

std::optional<Duration> LogWriter::silent_for() const {
  if (phase_ == Phase::kRebuilding) return clock_.boot() - rebuilding_since_;
  return std::max(disk_.silent_for(), reads_.silent_for());
}

// --- Deciding.

Async<Outcome> LogWriter::decide(model::Input input, OnDecided on_decided, Guard guard) {
  const store::Room room = room_of(input);
  // What was decided beside a commit that failed has not had the reserve.
  int tries = 2;
  for (;;) {
    if (must_wait()) {
      CO_TRY(co_await admit(input));
    }
    if (guard) CO_TRY(guard());
    Ticket ticket{.room = room};
    decide_now(input, ticket);
    if (on_decided) on_decided(ticket.outcome);
    co_await Parked{ticket, undurable()};
    if (!ticket.failure) co_return std::move(ticket.outcome);
    if (room == store::Room::kHeld) continue;
    Error failure = *std::move(ticket.failure);
    if (failure.code != Errc::kFull || room != store::Room::kReserve) co_return failure;
    if (--tries == 0) co_return failure.with_hint(std::string(kFreeByHand));
  }
}

Async<Settled> LogWriter::settled() {
  while (phase_ == Phase::kRebuilding) {
    CO_TRY(co_await phase_changed_.wait(gate_.token()));
    if (phase_ != Phase::kRebuilding && phase_ != Phase::kDead) co_return Settled::kRolledBack;
  }
  if (phase_ == Phase::kDead) co_return phase_error_;
  Ticket ticket;
  co_await Parked{ticket, undurable()};
  co_return ticket.failure ? Settled::kRolledBack : Settled::kDurable;
}

bool LogWriter::must_wait() const {
  return stopped_ || copying_ || phase_ != Phase::kOpen || full() || is_short_;
}

Async<void> LogWriter::admit(const model::Input& input) {
  const store::Room room = room_of(input);
  const bool waits_for_room = room != store::Room::kOrdinary;
  const bool is_report = room == store::Room::kHeld;
  for (;;) {
    if (stopped_) co_return async::cancelled_error();
    if (phase_ == Phase::kDead) co_return phase_error_;
    if (phase_ == Phase::kWaiting && !waits_for_room) co_return phase_error_;
    if (phase_ == Phase::kOpen && !copying_ && !full()) {
      if (waits_for_room || !is_short_) co_return {};
      CO_TRY(co_await look_for_room());
      if (is_short_) co_return nothing_accepted(store::disk_is_full());
      continue;
    }
    if (phase_ == Phase::kOpen && !is_report && full()) co_return too_busy(kPendingInputsMax);
    if (is_report) ++waiting_reports_;
    Result<void> woken = co_await phase_changed_.wait(gate_.token());
    if (is_report) --waiting_reports_;
    CO_TRY(std::move(woken));
  }
}

// What a short disk would refuse is not decided: taking it back costs a fold of the log.
Async<void> LogWriter::look_for_room() {
  const DiskWatch::Turn turn(disk_);
  is_short_ = CO_TRY(co_await worker_->run([this]() -> Result<bool> {
    if (log_ == nullptr) return log_is_away();
    return log_->is_short_of_room();
  }));
  co_return {};
}

bool LogWriter::full() const {
  const std::size_t inputs = group_.inputs + (committing_ != nullptr ? committing_->inputs : 0);
  const std::size_t bytes = group_.bytes + (committing_ != nullptr ? committing_->bytes : 0);
  return inputs >= kPendingInputsMax || bytes >= kPendingBytesMax;
}

// The youngest group that holds events which are not durable, if any.
LogWriter::Group* LogWriter::undurable() { return group_.inputs > 0 ? &group_ : committing_; }

void LogWriter::decide_now(const model::Input& input, Ticket& ticket) {
  CHECK(phase_ == Phase::kOpen, "an input is decided while the brain is not there");
  brain::Decision decision = recovered_->brain.decide(input, now());
  ticket.outcome = {std::move(decision.refusal), decision.job, decision.repeated,
                    state().last_event, decision.attempt};
  if (!decision.events.empty()) collect(input, std::move(decision));
}

void LogWriter::collect(const model::Input& input, brain::Decision decision) {
  const auto count = static_cast<std::int64_t>(decision.events.size());
  CHECK(count > 0, "a batch without events is not kept");
  DurableBatch durable;
  durable.seq = last_batch_ = BatchSeq(last_batch_.value() + 1);
  durable.first_event = EventSeq(state().last_event.value() - count + 1);
  durable.now = state().now;
  durable.events = std::move(decision.events);
  for (const model::Event& event : durable.events) {
    json::Writer out(durable.json);
    model::encode(out, event);
    durable.ends.push_back(durable.json.size());
  }
  CHECK(durable.first_event.value() > 0, "the state has folded fewer events than were decided");
  store::Batch batch;
  batch.seq = durable.seq;
  batch.first_event = durable.first_event;
  batch.event_count = count;
  batch.epoch = epoch_;
  batch.now = durable.now;
  batch.input = model::encode_text(input);
  batch.events = list_text(durable);
  follow(durable, std::move(decision.archived));
  if (options_.tap) options_.tap(input, durable, state());
  events_since_snapshot_ += count;
  group_.room = std::max(group_.room, room_of(input));
  group_.bytes += 2 * batch.events.size() + batch.input.size();
  ++group_.inputs;
  group_.batches.push_back(std::move(batch));
  group_.durable.push_back(std::move(durable));
  work_.notify_all();
}

void LogWriter::follow(const DurableBatch& batch, std::vector<brain::Job> archived) {
  JobVersions& versions = recovered_->versions;
  for (brain::Job& job : archived) {
    const JobId id = job.id;
    CHECK(!group_.moves[id].left, "a job leaves twice before it could come back");
    group_.moves[id].left = LeavingJob{std::move(job), versions.version_of(id)};
  }
  std::int64_t seq = batch.first_event.value();
  for (const model::Event& event : batch.events) {
    const auto* deleted = std::get_if<model::JobDeleted>(&event);
    if (deleted != nullptr) group_.archive.put.push_back(deletion_record(deleted->job));
    const auto* restored = std::get_if<model::JobRestored>(&event);
    if (restored != nullptr) group_.moves[restored->job].came_back = true;
    if (!archived.empty()) note_version(event, EventSeq(seq));
    versions.follow(state(), event, EventSeq(seq++));
  }
}

// A job may end and be archived in one decision.
void LogWriter::note_version(const model::Event& event, EventSeq seq) {
  const auto leaving = group_.moves.find(model::job_of(event));
  if (leaving == group_.moves.end() || !leaving->second.left) return;
  if (!std::holds_alternative<model::JobArchived>(event)) leaving->second.left->version = seq;
}

// On the log's thread: a large job takes a while to write.
Result<store::ArchiveChange> LogWriter::archive_change(store::EventLog& log, Group& group) {
  store::ArchiveChange change = std::move(group.archive);
  for (auto& [job, move] : group.moves) {
    if (move.came_back) {
      for (std::string& key : TRY(keys_of(log, job))) change.remove.push_back(std::move(key));
    }
    if (!move.left) continue;
    for (store::ArchiveEntry& entry : entries_of(*std::move(move.left))) {
      std::erase(change.remove, entry.key);
      change.put.push_back(std::move(entry));
    }
  }
  return change;
}

// --- Committing.

Async<void> LogWriter::run_commits() {
  while (!gate_.token().stopped() || group_.inputs > 0) {
    if (group_.inputs == 0) {
      Result<void> woken = co_await work_.wait(gate_.token());
      if (!woken.ok()) continue;  // Stopping: what was decided is committed first.
    }
    Result<void> paced = co_await pace();
    (void)paced;  // Stopping: commit at once.
    if (group_.inputs == 0) continue;
    CO_TRY(co_await commit());
  }
  co_return {};
}

// Waits until the last commit began long enough ago.
Async<void> LogWriter::pace() {
  const Duration passed = clock_.boot() - last_commit_;
  if (passed >= options_.commit_interval_min) co_return {};
  co_return co_await loop_.sleep(options_.commit_interval_min - passed, gate_.token());
}

Async<void> LogWriter::append(Group& group) {
  const DiskWatch::Turn turn(disk_);
  bool is_short = false;
  Result<void> appended = co_await worker_->run([this, &group, &is_short] {
    Result<void> done = append_now(group);
    is_short = log_ != nullptr && log_->is_short_of_room();
    return done;
  });
  is_short_ = is_short;
  co_return appended;
}

// On the log's thread.
Result<void> LogWriter::append_now(Group& group) {
  if (log_ == nullptr) return log_is_away();
  const store::ArchiveChange archive = TRY(archive_change(*log_, group));
  return log_->append(epoch_, std::move(group.batches), archive, group.room);
}

Async<void> LogWriter::commit() {
  CHECK(committing_ == nullptr, "two commits run at once");
  CHECK(phase_ == Phase::kOpen, "a commit begins while the brain is not there");
  Group group = std::exchange(group_, {});
  CHECK(group.batches.size() == group.inputs, "a group has other batches than inputs");
  committing_ = &group;
  last_commit_ = clock_.boot();
  std::optional<brain::State> keep;
  if (snapshot_is_due()) {
    Result<brain::State> copy = co_await copy_state();
    if (copy.ok()) {  // Else the next commit finds it due.
      keep = std::move(copy).value();
      events_since_snapshot_ = 0;
    }
  }
  const BatchSeq through = last_batch_;
  Result<void> stored = co_await append(group);
  committing_ = nullptr;
  if (!stored.ok()) co_return co_await roll_back(group, std::move(stored).error());
  finish(group);
  if (!keep) co_return {};
  snapshot_running_ = true;
  Result<void> begun = loop_.spawn(gate_, save_snapshot(*std::move(keep), through));
  if (!begun.ok()) snapshot_running_ = false;  // Stopping: stop() keeps one.
  co_return {};
}

void LogWriter::finish(Group& group) {
  CHECK(group.durable.size() == group.inputs, "a group has other batches than inputs");
  if (observer_ != nullptr) observer_->on_durable(std::move(group.durable));
  settle_tickets(group, std::nullopt);
  phase_changed_.notify_all();
}

void LogWriter::settle_tickets(Group& group, const std::optional<Error>& failure) {
  for (Ticket* ticket : group.tickets) {
    CHECK(ticket->waiting, "a ticket is settled that nobody waits with");
    ticket->failure = failure;
    loop_.resume_soon(ticket->waiting);
  }
  group.tickets.clear();
}

// --- When the log takes nothing.

// The askers of the group hear when it is known what the disk kept of it, and after the state was
// replaced: what they do next rests on it.
Async<void> LogWriter::roll_back(Group& group, Error error) {
  CHECK(phase_ == Phase::kOpen, "a roll-back of what could not be decided");
  phase_ = Phase::kRebuilding;
  rebuilding_since_ = clock_.boot();
  phase_error_ = nothing_accepted(error);
  // What was decided meanwhile stands on what may not be there.
  Group dependent = std::exchange(group_, {});
  settle_tickets(dependent, phase_error_);
  Result<Rebuilt> rebuilt = co_await rebuild(group, error);
  opening_error_.reset();
  if (rebuilt.ok() && rebuilt->connection != nullptr) {
    Result<void> used = co_await use_connection(std::move(rebuilt->connection));
    CHECK(used.ok(), "a worker with room that was not stopped refused its work");
  }
  if (rebuilt.ok()) {
    take(std::move(rebuilt).value(), group);
  } else {
    die(std::move(rebuilt).error());
    settle_tickets(group, unread_outcome(error));
  }
  co_return {};
}

void LogWriter::take(Rebuilt rebuilt, Group& group) {
  CHECK(group_.inputs == 0, "something was decided while the brain was being made anew");
  *recovered_ = std::move(rebuilt.recovered);
  last_batch_ = recovered_->head.last;
  events_since_snapshot_ = recovered_->events_since_snapshot;
  const Reports void_reports = rebuilt.has_group ? Reports::kNone : reports_of(group);
  if (observer_ != nullptr && rebuilt.has_group) observer_->on_durable(std::move(group.durable));
  if (observer_ != nullptr) observer_->on_rolled_back();
  if (rebuilt.has_group) {
    settle_tickets(group, std::nullopt);
  } else {
    settle_tickets(group, phase_error_);
  }
  go_on(void_reports);
}

Async<LogWriter::Rebuilt> LogWriter::recover_log(const Group& group, Reopen reopen) {
  if (reopen == Reopen::kYes) {
    CO_TRY(co_await use_connection(nullptr));
  }
  const DiskWatch::Turn turn(disk_);
  Result<Rebuilt> rebuilt = co_await worker_->run([this, &group, reopen]() -> Result<Rebuilt> {
    if (reopen == Reopen::kYes) {
      log_.reset();  // Before the new one: two cannot be open at once.
      log_ = TRY(opener_());
    }
    Recovered recovered = TRY(options_.fold(*log_, options_.limits));
    Rebuilt made{std::move(recovered), TRY(are_in(*log_, epoch_, group.durable))};
    if (reopen == Reopen::kYes) made.connection = TRY(log_->connect());
    return made;
  });
  co_return rebuilt;
}

Async<LogWriter::Rebuilt> LogWriter::rebuild(const Group& group, Error error) {
  for (;;) {
    if (hopeless(error)) co_return error;
    const bool stands = error.code == Errc::kFull && log_ != nullptr && connection_ != nullptr;
    const Reopen reopen = stands ? Reopen::kNo : Reopen::kYes;
    Result<Rebuilt> rebuilt = co_await recover_log(group, reopen);
    if (rebuilt.ok()) co_return rebuilt;
    error = std::move(rebuilt).error();
    opening_error_ = error;
    const Result<void> slept = co_await loop_.sleep(options_.retry_after, giving_up_.token());
    if (!slept.ok()) co_return error;
  }
}

LogWriter::Reports LogWriter::reports_of(const Group& group) {
  const bool any = std::any_of(group.tickets.begin(), group.tickets.end(),
                               [](const Ticket* each) { return each->room == store::Room::kHeld; });
  return any ? Reports::kToDecideAgain : Reports::kNone;
}

// Reports that are void would meet the same disk at once.
void LogWriter::go_on(Reports void_reports) {
  if (stopped_ || (waiting_reports_ == 0 && void_reports == Reports::kNone)) {
    phase_ = Phase::kOpen;
  } else {
    phase_ = Phase::kWaiting;
    retry_.start(options_.retry_after, [this] {
      phase_ = Phase::kOpen;
      phase_changed_.notify_all();
    });
  }
  phase_changed_.notify_all();
}

void LogWriter::die(Error error) {
  phase_ = Phase::kDead;
  phase_error_ = std::move(error);
  phase_changed_.notify_all();
  if (observer_ != nullptr && !stopped_) observer_->on_dead(phase_error_);
}

// --- Snapshots and the archive.

bool LogWriter::snapshot_is_due() const {
  return !snapshot_running_ && !is_short_ &&
         events_since_snapshot_ >= options_.snapshot_every_events;
}

// A copy of a hundred thousand tasks in flight takes hundreds of milliseconds, so the loop goes on.
// Begun when a commit begins or after the last one: everything decided is in it.
Async<brain::State> LogWriter::copy_state() {
  CHECK(group_.inputs == 0, "a snapshot would hold what is not in the commit");
  copying_ = true;
  Result<brain::State> copy = co_await encoder_->run([this] { return brain::State(state()); });
  CHECK(group_.inputs == 0, "something was decided while the state was copied");
  copying_ = false;
  phase_changed_.notify_all();
  co_return copy;
}

Async<void> LogWriter::save_snapshot(brain::State state, BatchSeq through) {
  CHECK(through.value() > 0, "a snapshot before the first batch");
  Result<std::string> text = co_await encoder_->run([&state] {
    const brain::State copy = std::move(state);  // Its end takes as long as its making.
    return brain::encode_state(copy);
  });
  if (!text.ok()) {
    snapshot_running_ = false;
    co_return text.error();
  }
  store::Snapshot snapshot{through, std::move(text).value()};
  const DiskWatch::Turn turn(disk_);
  Result<void> saved = co_await worker_->run([this, &snapshot]() -> Result<void> {
    if (log_ == nullptr) return log_is_away();
    return log_->save_snapshot(epoch_, snapshot);
  });
  snapshot_running_ = false;
  co_return saved;
}

Async<void> LogWriter::remove_archived(JobId job) {
  const DiskWatch::Turn turn(disk_);
  Result<void> removed = co_await worker_->run([this, &job]() -> Result<void> {
    if (log_ == nullptr) return log_is_away();
    store::ArchiveChange change;
    change.remove = TRY(keys_of(*log_, job));
    change.put.push_back(deletion_record(job));
    return log_->append(epoch_, {}, change, store::Room::kReserve);
  });
  if (removed.ok()) co_return removed;
  co_return unread_outcome(removed.error());
}

}  // namespace runnel::control
