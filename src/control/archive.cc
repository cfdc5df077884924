#include "control/archive.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "control/job_document.h"
#include "json/value.h"

namespace runnel::control {
namespace {

// No id of a job begins like these: a search for the beginning of an id finds none of them.
constexpr std::string_view kStudyKeys = "=study/";
constexpr std::string_view kPartKeys = "=job/";
constexpr std::string_view kDeletionKeys = "=deleted/";

std::string parts_of(const JobId& job) { return std::string(kPartKeys) + job.str() + "/"; }

std::string part_key(const JobId& job, std::size_t part) {
  char number[24];
  std::snprintf(number, sizeof number, "%06zu", part);
  return parts_of(job) + number;
}

// Where the part that begins at `begin` ends: never inside a character.
std::size_t end_of_part(std::string_view text, std::size_t begin) {
  std::size_t end = std::min(text.size(), begin + kRecordPartMax);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

void add_parts(std::vector<store::ArchiveEntry>& entries, const JobId& job,
               std::string_view record) {
  std::size_t part = 0;
  for (std::size_t begin = 0; begin < record.size(); ++part) {
    const std::size_t end = end_of_part(record, begin);
    CHECK(end > begin, "a part of a record is empty");
    // Without a sort key: in no list.
    entries.push_back({part_key(job, part), "", std::string(record.substr(begin, end - begin))});
    begin = end;
  }
}

Result<EventSeq> version_in(const std::string& document) {
  const json::Value parsed = TRY(json::parse(document));
  const json::Value* version = parsed.find("resource_version");
  return EventSeq(version != nullptr && version->is_int() ? version->as_int() : 0);
}

Error not_whole(const JobId& job) {
  return Error(Errc::kCorrupt, "the archive's record of job " + job.str() + " is not understood")
      .with_value(job.str())
      .with_hint("runnel fsck tells what can be saved");
}

}  // namespace

bool has_search(const brain::Job& job) {
  return std::any_of(job.spec->steps.begin(), job.spec->steps.end(),
                     [](const model::StepSpec& step) { return step.search.has_value(); });
}

std::string archive_sort_key(const ProjectId& project, const JobId& job) {
  return project.str() + "/" + job.str();
}

ProjectId project_of_sort_key(const std::string& sort_key) {
  return ProjectId(sort_key.substr(0, sort_key.find('/')));
}

std::string study_sort_key(const ProjectId& project, const JobId& job) {
  return std::string(kStudyKeys) + archive_sort_key(project, job);
}

std::string study_key(const JobId& job) { return std::string(kStudyKeys) + job.str(); }

Result<JobId> job_of_key(std::string_view key) {
  if (key.starts_with(kStudyKeys)) key.remove_prefix(kStudyKeys.size());
  return JobId::parse(key);
}

std::string deletion_key(const JobId& job) { return std::string(kDeletionKeys) + job.str(); }

store::ArchiveEntry deletion_record(const JobId& job) {
  std::string key = deletion_key(job);
  return {key, key, "{}"};
}

std::vector<store::ArchiveEntry> entries_of(LeavingJob leaving) {
  CHECK(model::is_end(leaving.job.status), "an unfinished job goes into the archive");
  CHECK(leaving.job.spec != nullptr, "a job without a specification goes into the archive");
  const JobId id = leaving.job.id;
  const ProjectId project = leaving.job.project;
  std::string document = job_document(leaving.job, leaving.version);
  std::vector<store::ArchiveEntry> entries;
  if (has_search(leaving.job)) {
    entries.push_back({study_key(id), study_sort_key(project, id), document});
  }
  entries.push_back({id.str(), archive_sort_key(project, id), std::move(document)});
  add_parts(entries, id, brain::encode_job(std::move(leaving.job)));
  return entries;
}

Result<std::vector<std::string>> keys_of(store::LogReader& log, const JobId& job) {
  CHECK(!job.empty(), "the keys of no job are the keys of all");
  std::vector<std::string> keys = TRY(log.archive_keys(parts_of(job), store::kArchivePageMax));
  keys.push_back(study_key(job));
  keys.push_back(job.str());
  return keys;
}

Result<FormerJob> read_former_job(store::LogReader& log, const JobId& job) {
  CHECK(!job.empty(), "the parts of no job are the parts of all");
  FormerJob former;
  former.document = std::move(TRY(log.archived(job.str())).text);
  former.version = TRY(version_in(former.document));
  const auto parts = TRY(log.archive_keys(parts_of(job), store::kArchivePageMax));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part] != part_key(job, part)) return not_whole(job);
    former.record += TRY(log.archived(parts[part])).text;
  }
  if (parts.empty()) return former;
  Result<brain::Job> read = brain::decode_job(former.record);
  if (!read.ok() && read.error().code == Errc::kUnsupported) return std::move(read).error();
  if (!read.ok() || read->id != job) return not_whole(job);
  former.job = std::make_shared<const brain::Job>(std::move(read).value());
  return former;
}

Error only_the_record(const JobId& job) {
  return Error(Errc::kGone, "job " + job.str() +
                                " was archived by an earlier build, which kept neither its "
                                "specification nor its tasks and trials")
      .with_value(job.str())
      .with_hint(
          "its record, its events and its output are kept: runnel show, runnel events, "
          "runnel logs");
}

}  // namespace runnel::control
