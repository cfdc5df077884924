#include "control/recovery.h"

#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "json/value.h"
#include "model/codec.h"

namespace runnel::control {
namespace {

Error not_understood(const store::Batch& batch, const Error& cause) {
  if (cause.code == Errc::kUnsupported) return cause;  // A newer build's, and said so by name.
  return Error(Errc::kCorrupt, "batch " + std::to_string(batch.seq.value()) +
                                   " of the event log is not understood: " + cause.to_string())
      .with_value(std::to_string(batch.seq.value()))
      .with_hint("runnel fsck tells what can be saved");
}

// A restored job comes with its archived record, which the fold takes for sound.
Result<void> check_record(const model::Event& event) {
  const auto* restored = std::get_if<model::JobRestored>(&event);
  if (restored == nullptr) return {};
  const brain::Job job = TRY(brain::decode_job(restored->record));
  if (job.id == restored->job) return {};
  return Error(Errc::kCorrupt, "the record of another job is restored");
}

Result<std::vector<model::Event>> decode_events(const store::Batch& batch) {
  const json::Value list = TRY(json::parse(batch.events));
  if (!list.is_list()) return Error(Errc::kCorrupt, "its events are not a list");
  std::vector<model::Event> events;
  events.reserve(list.as_list().size());
  for (const json::Value& event : list.as_list()) {
    events.push_back(TRY(model::decode_event(event)));
    TRY(check_record(events.back()));
  }
  if (std::ssize(events) != batch.event_count) {
    return Error(Errc::kCorrupt, "it does not hold as many events as it says");
  }
  return events;
}

Result<void> replay(Recovered& into, const store::Batch& batch) {
  const std::vector<model::Event> events = TRY(events_of(batch));
  into.brain.replay(events, batch.now);
  std::int64_t seq = batch.first_event.value();
  for (const model::Event& event : events) {
    into.versions.follow(into.brain.state(), event, EventSeq(seq++));
  }
  into.events_since_snapshot += batch.event_count;
  return {};
}

Error not_understood(const store::Snapshot& snapshot, const Error& cause) {
  return Error(Errc::kCorrupt,
               "the snapshot at batch " + std::to_string(snapshot.through.value()) +
                   " is not understood and what was before it is gone: " + cause.to_string())
      .with_hint("runnel fsck tells what can be saved");
}

// Where the fold begins.
struct Start {
  brain::State state;
  BatchSeq after;
};

// At the newest snapshot. One that is not understood only saves time as long as the log still has
// all batches; that of a newer build is not ours to do without.
Result<Start> start_of(store::EventLog& log) {
  const std::optional<store::Snapshot> snapshot = TRY(log.load_snapshot());
  if (!snapshot) return Start();
  Result<brain::State> state = brain::decode_state(snapshot->text);
  if (state.ok()) return Start{std::move(state).value(), snapshot->through};
  if (state.error().code == Errc::kUnsupported) return std::move(state).error();
  if (log.read(BatchSeq(0), 1).ok()) return Start();
  return not_understood(*snapshot, state.error());
}

}  // namespace

JobVersions::JobVersions(const brain::State& state) : floor_(state.last_event) {}

void JobVersions::follow(const brain::State& state, const model::Event& event, EventSeq seq) {
  CHECK(seq > floor_, "an event is followed that the snapshot holds already");
  const JobId job = model::job_of(event);
  if (job.empty()) return;
  if (state.jobs.contains(job)) {
    versions_[job] = seq;
  } else {
    versions_.erase(job);
  }
}

EventSeq JobVersions::version_of(const JobId& job) const {
  auto known = versions_.find(job);
  return known != versions_.end() ? known->second : floor_;
}

Result<std::vector<model::Event>> events_of(const store::Batch& batch) {
  auto events = decode_events(batch);
  if (events.ok()) return events;
  return not_understood(batch, events.error());
}

Result<Recovered> recover(store::EventLog& log, brain::Limits limits) {
  Start start = TRY(start_of(log));
  JobVersions versions(start.state);
  Recovered recovered{brain::Brain(std::move(start.state), limits), std::move(versions), log.head(),
                      0};
  BatchSeq at = start.after;
  while (at < recovered.head.last) {
    const std::vector<store::Batch> batches = TRY(log.read(at, store::kReadBatchesMax));
    if (batches.empty()) {
      return Error(Errc::kCorrupt, "the event log ends before its last batch")
          .with_value(std::to_string(at.value()));
    }
    for (const store::Batch& batch : batches) TRY(replay(recovered, batch));
    at = batches.back().seq;
  }
  CHECK(recovered.brain.state().last_event.value() + 1 == recovered.head.next_event.value(),
        "the state has not folded every event of the log");
  return recovered;
}

}  // namespace runnel::control
