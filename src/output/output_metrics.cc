#include "output/output_metrics.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "output/index_file.h"

namespace runnel::output {
namespace {

constexpr std::array<model::LogStream, 2> kStreams = {model::LogStream::kOut,
                                                      model::LogStream::kErr};

// Ended, and all of it read.
bool is_done(const LogSource& part) {
  return part.end && std::all_of(kStreams.begin(), kStreams.end(), [&](model::LogStream stream) {
           return part.position(stream) >= part.end->offset[model::index_of(stream)];
         });
}

}  // namespace

bool is_output_of(const model::AttemptRef& attempt, const IndexRecord& record) {
  return record.rank == 0 && record.step == attempt.task.step.value() &&
         record.task == attempt.task.index.value() && record.attempt == attempt.attempt.value();
}

OutputMetrics::OutputMetrics(std::string logs, JobId job, const extract::Patterns& patterns)
    : logs_(std::move(logs)),
      job_(job),
      streams_{extract::LogExtractor(patterns), extract::LogExtractor(patterns)} {}

void OutputMetrics::take(const IndexRecord& record) {
  CHECK(record.rank == 0, "metrics are looked for in the output of rank 0");
  if (record.kind == IndexRecord::Kind::kStart) {
    LogSource part;
    part.start = record;
    parts_.push_back(part);
    return;
  }
  const auto part = std::find_if(parts_.rbegin(), parts_.rend(), [&](const LogSource& each) {
    return each.start.slot == record.slot;
  });
  if (part == parts_.rend()) return;
  if (record.kind == IndexRecord::Kind::kEnd) part->end = record;
  if (has_gap(record)) part->gap = record;
}

void OutputMetrics::measure(LogPageBuilder& page) {
  for (const LogSource& part : parts_) {
    if (is_done(part)) continue;
    for (const model::LogStream stream : kStreams) page.end_of(part, stream);
  }
}

std::size_t OutputMetrics::drain(LogPageBuilder& page, std::size_t parts,
                                 std::vector<model::MetricSample>& samples) {
  CHECK(parts <= parts_.size(), "a part of the output is lost");
  for (std::size_t i = 0; i < parts && !page.full(); ++i) {
    if (!is_done(parts_[i])) page.drain_apart(parts_[i]);
  }
  std::size_t bytes = 0;
  for (const model::LogPiece& piece : page.take()) {
    streams_[model::index_of(piece.stream)].add(piece.bytes, samples);
    bytes += piece.bytes.size();
  }
  return bytes;
}

void OutputMetrics::end(std::vector<model::MetricSample>& samples) {
  for (extract::LogExtractor& stream : streams_) stream.end(samples);
}

bool OutputMetrics::skip_to_last() {
  bool any = false;
  LogPageBuilder page(logs_, job_, Time());
  for (LogSource& part : parts_) {
    for (const model::LogStream stream : kStreams) {
      const std::int64_t over = page.end_of(part, stream) - part.position(stream) - kLastBytesMax;
      if (over <= 0) continue;
      part.at.read[model::index_of(stream)] += over;
      streams_[model::index_of(stream)].skip_line();
      any = true;
    }
  }
  return any;
}

FollowedOutput::FollowedOutput(std::string logs, model::AttemptRef attempt,
                               const extract::Patterns& patterns, std::int64_t from)
    : logs_(std::move(logs)),
      attempt_(attempt),
      next_record_(from),
      metrics_(logs_, attempt_.task.job, patterns) {
  CHECK(from >= 0, "an index has no record below zero");
}

void FollowedOutput::look(std::vector<model::MetricSample>& samples) {
  metrics_.read(samples, [this] { take_records(); });
}

void FollowedOutput::finish(const std::function<void(std::vector<model::MetricSample>)>& take) {
  take_records();
  metrics_.skip_to_last();
  std::vector<model::MetricSample> samples;
  while (metrics_.read(samples) > 0) take(std::exchange(samples, {}));
  metrics_.end(samples);
  take(std::move(samples));
}

void FollowedOutput::take_records() {
  IndexFile index(logs_);
  for (; next_record_ < index.records(); ++next_record_) {
    const std::optional<IndexRecord> record = index.at(next_record_);
    if (record && is_output_of(attempt_, *record)) metrics_.take(*record);
  }
}

}  // namespace runnel::output
