#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "brain/state.h"
#include "store/event_log.h"

namespace runnel::control {

// A finished job that leaves the state, with the newest event about it.
struct LeavingJob {
  brain::Job job;
  EventSeq version;
};

// Whether a step of the job is a search, which makes it a study.
bool has_search(const brain::Job& job);

// What the archive has of a job.
struct FormerJob {
  std::string document;
  EventSeq version;
  std::string
      record;  // As brain::encode_job() made it; "" of a job that an earlier build archived,
  std::shared_ptr<const brain::Job> job;  // of which there is nothing else than the document.
};

// Where a job stands in the archive's lists: newest first, project by project.
std::string archive_sort_key(const ProjectId& project, const JobId& job);
ProjectId project_of_sort_key(const std::string& sort_key);
// The same of jobs with a search, which stand in a list of their own.
std::string study_sort_key(const ProjectId& project, const JobId& job);
// The key of the entry that stands there.
std::string study_key(const JobId& job);
// The job of an entry in either list.
Result<JobId> job_of_key(std::string_view key);

// The archive's record that a job was deleted, which outlives the part of the log that is kept:
// only what has one may lose its files. Its key is no id, and it stands in no project's list.
std::string deletion_key(const JobId& job);
store::ArchiveEntry deletion_record(const JobId& job);

// The entries that keep a job: its document by its id, a second one in the list of studies for one
// that has a search, and the job itself in parts of at most kRecordPartMax.
inline constexpr std::size_t kRecordPartMax = std::size_t{4} << 20;
std::vector<store::ArchiveEntry> entries_of(LeavingJob leaving);
// The keys of all entries that there are of a job.
Result<std::vector<std::string>> keys_of(store::LogReader& log, const JobId& job);
// kNotFound when the archive does not have it, kCorrupt when a part is missing or not understood.
Result<FormerJob> read_former_job(store::LogReader& log, const JobId& job);

// Why there is nothing but the document of a job.
Error only_the_record(const JobId& job);

}  // namespace runnel::control
