#include "output/log_audit.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>

#include "env/files.h"
#include "output/job_output.h"
#include "output/log_index.h"

namespace runnel::output {

std::string damaged_records(const std::string& logs) {
  return index_path(logs) + " has damaged records: some output is lost, or told as another task's";
}

std::vector<std::string> LogAudit::segments() const {
  const Result<std::vector<std::string>> names = env::list_directory(logs_);
  std::vector<std::string> found;
  if (!names.ok()) return found;
  std::copy_if(names->begin(), names->end(), std::back_inserter(found),
               [](const std::string& name) { return parse_output_name(name).has_value(); });
  return found;
}

std::vector<std::string> LogAudit::without_index() const {
  const Result<bool> there = env::is_there(logs_);
  if (!there.ok()) return {logs_ + " cannot be read: " + there.error().message};
  if (job_ == Job::kOver && !*there) {
    return {logs_ + " is gone, and with it all output of the job"};
  }
  if (job_ != Job::kOver && segments().empty()) return {};
  // The runner makes it before the first file of output, so both may have come since it was opened.
  if (job_ == Job::kRuns && env::exists(index_path(logs_))) return {};
  return {index_path(logs_) + " cannot be read, and with it no output: " +
          std::generic_category().message(index_.failure())};
}

std::vector<std::string> LogAudit::sentences() {
  if (index_.failure() != 0) return without_index();
  if (job_ == Job::kRuns) return {};
  std::vector<std::string> sentences;
  const bool is_read = index_.records() <= kRecordsMax;
  if (is_read) read_ends();
  if (has_damaged_records_) return {damaged_records(logs_)};
  if (index_.torn())
    sentences.push_back(index_path(logs_) + " ends within a record: output may be lost");
  if (!is_read) return sentences;
  for (const std::string& segment : segments()) compare(segment, sentences);
  return sentences;
}

void LogAudit::read_ends() {
  for (std::int64_t number = 0; number < index_.records(); ++number) {
    const std::optional<IndexRecord> record = index_.at(number);
    if (!record) has_damaged_records_ = true;
    if (!record || record->kind == IndexRecord::Kind::kGap) continue;
    Ends& ends = ends_[{record->slot, record->rank}];
    ends.open = record->kind == IndexRecord::Kind::kStart;
    for (std::size_t i = 0; i < 2; ++i) ends.named[i] = std::max(ends.named[i], record->offset[i]);
  }
}

void LogAudit::compare(const std::string& segment, std::vector<std::string>& sentences) const {
  const OutputName name = *parse_output_name(segment);
  std::int64_t named = is_alone(name.slot) ? 0 : static_cast<std::int64_t>(kSharedHead.size());
  const auto found = ends_.find({name.slot, name.rank});
  if (found != ends_.end()) {
    if (found->second.open) return;
    named = std::max(named, found->second.named[model::index_of(name.stream)]);
  }
  const Result<env::FileInfo> info = env::file_info(logs_ + "/" + segment);
  const std::int64_t over = info.ok() ? info->size.count() - named : 0;
  if (over <= 0) return;
  sentences.push_back(logs_ + "/" + segment + " ends with " + std::to_string(over) +
                      " bytes of no attempt that the index names: it was cut, or a process went on "
                      "writing after its task");
}

}  // namespace runnel::output
