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

// What control knows of each job beside the state: derived from events, kept in step with them.
//
// Contract: follow() takes each event right after the decision or replay it belongs to, with the
// state
//           after it. version_of() is the newest event about a job; for a job that nothing happened
//           to since the snapshot it is the snapshot's last event, so versions grow but are not
//           tight.
// Threads:  none of its own.
// Why:      a job's document cannot be made any more when its archiving is decided: it has left the
//           state. So the documents of finished jobs, of which the state bounds the number, are
//           made when they end.
class JobRecords {
 public:
  JobRecords() = default;
  // Of the jobs in a state that was read from a snapshot.
  explicit JobRecords(const brain::State& state);

  void follow(const brain::State& state, const model::Event& event, EventSeq seq);
  // After following a whole decision: documents of the jobs that ended in it.
  void settle(const brain::State& state);

  EventSeq version_of(const JobId& job) const;
  // The archive's entry for a job that was archived just now; it is forgotten here.
  store::ArchiveEntry take_record(const JobId& job);
  // Documents that are kept: one for each finished job of the state.
  std::size_t finished() const { return records_.size(); }

 private:
  void on_job_changed(const model::JobChanged& event);

  EventSeq floor_;
  std::unordered_map<JobId, EventSeq> versions_;
  std::unordered_map<JobId, store::ArchiveEntry> records_;  // Of finished jobs.
  std::vector<JobId> ended_;                                // In the decision being followed.
};

// Where a job stands in the archive's lists: newest first, project by project.
std::string archive_sort_key(const ProjectId& project, const JobId& job);
ProjectId project_of_sort_key(const std::string& sort_key);

// The archive's record that a job was deleted, which outlives the part of the log that is kept:
// only what has one may lose its files. Its key is no id, and it stands in no project's list.
std::string deletion_key(const JobId& job);
store::ArchiveEntry deletion_record(const JobId& job);

// What a log folds to.
struct Recovered {
  brain::Brain brain;
  JobRecords records;
  store::Head head;
  std::int64_t events_since_snapshot = 0;
};

// Reads the newest snapshot and all batches after it. Blocks; kCorrupt names the batch that cannot
// be understood.
Result<Recovered> recover(store::EventLog& log);

// The events of one batch.
Result<std::vector<model::Event>> events_of(const store::Batch& batch);

}  // namespace runnel::control
