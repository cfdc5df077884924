#include "output/rank_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "async/unique_fd.h"
#include "base/check.h"
#include "output/log_index.h"
#include "output/open_file.h"
#include "output/paths.h"

namespace runnel::output {
namespace {

constexpr auto kIndexRecord = static_cast<std::int64_t>(kIndexRecordBytes);

std::int64_t whole_records(std::int64_t bytes) { return bytes / kIndexRecord * kIndexRecord; }

std::int64_t index_size(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? whole_records(status.st_size) : 0;
}

// Anybody may give a file of theirs a time before the epoch, which no event can hold.
Time modified_at(const struct stat& status) {
  return Time::from_millis(std::max<std::int64_t>(
      0, std::int64_t{status.st_mtim.tv_sec} * 1'000 + status.st_mtim.tv_nsec / 1'000'000));
}

}  // namespace

void RankOutputs::follow(const model::AttemptRef& attempt, Begun begun) {
  attempts_[attempt];
  const JobId& job = attempt.task.job;
  const auto offset = offsets_.try_emplace(job, 0).first;
  if (begun == Begun::kMaybe) offset->second = 0;
}

void RankOutputs::forget(const model::AttemptRef& attempt) {
  attempts_.erase(attempt);
  const JobId& job = attempt.task.job;
  const auto next = attempts_.lower_bound({{job, StepIndex(), TaskIndex()}, AttemptNumber()});
  if (next == attempts_.end() || next->first.task.job != job) offsets_.erase(job);
}

void RankOutputs::look() {
  for (auto& [job, offset] : offsets_) read_on(job, offset);
}

void RankOutputs::read_on(const JobId& job, std::int64_t& offset) {
  CHECK(offset % kIndexRecord == 0, "an index is read from within a record");
  const std::string path = index_path(logs_folder(home_, job));
  const std::int64_t size = index_size(path);
  if (size <= offset) return;
  const async::UniqueFd file = open_to_read(path);
  if (!file.valid()) return;
  std::string bytes(static_cast<std::size_t>(std::min(size - offset, kIndexBytesMax)), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), offset);
  bytes.resize(static_cast<std::size_t>(whole_records(std::max<ssize_t>(got, 0))));
  take(job, bytes);
  offset += static_cast<std::int64_t>(bytes.size());
}

void RankOutputs::take(const JobId& job, std::string_view bytes) {
  for (; bytes.size() >= kIndexRecordBytes; bytes.remove_prefix(kIndexRecordBytes)) {
    const auto record = parse_record(bytes.substr(0, kIndexRecordBytes));
    if (!record || record->kind != IndexRecord::Kind::kStart) continue;
    const model::TaskRef task{job, StepIndex(record->step), TaskIndex(record->task)};
    const auto attempt = attempts_.find({task, AttemptNumber(record->attempt)});
    if (attempt != attempts_.end()) attempt->second[record->rank] = record->slot;
  }
}

std::optional<RankOutputs::Size> RankOutputs::size(const model::AttemptRef& attempt,
                                                   std::int32_t rank) const {
  const auto known = attempts_.find(attempt);
  if (known == attempts_.end()) return std::nullopt;
  const auto slot = known->second.find(rank);
  if (slot == known->second.end()) return std::nullopt;
  Size size;
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    struct stat status{};
    const std::string path =
        segment_path(logs_folder(home_, attempt.task.job), slot->second, rank, stream);
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    size.bytes += status.st_size;
    size.written_at = std::max(size.written_at, modified_at(status));
  }
  return size;
}

}  // namespace runnel::output
