#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "brain/brain.h"
#include "store/event_log.h"

namespace runnel::control {

// The newest event about each job: beside the state, kept in step with it.
//
// Contract: follow() takes each event right after the decision or replay it belongs to, with the
//           state after it. Of a job that nothing happened to since the snapshot it is the
//           snapshot's last event, so versions grow but are not tight.
// Threads:  none of its own.
class JobVersions {
 public:
  JobVersions() = default;
  // Begins with the jobs of a state that was read from a snapshot.
  explicit JobVersions(const brain::State& state);

  void follow(const brain::State& state, const model::Event& event, EventSeq seq);
  EventSeq version_of(const JobId& job) const;

 private:
  EventSeq floor_;
  std::unordered_map<JobId, EventSeq> versions_;
};

// What a log folds to.
struct Recovered {
  brain::Brain brain;
  JobVersions versions;
  store::Head head;
  std::int64_t events_since_snapshot = 0;
};

// Reads the newest snapshot and all batches after it. Blocks; kCorrupt names the batch that cannot
// be understood.
Result<Recovered> recover(store::EventLog& log, brain::Limits limits = {});

// The events of one batch.
Result<std::vector<model::Event>> events_of(const store::Batch& batch);

}  // namespace runnel::control
