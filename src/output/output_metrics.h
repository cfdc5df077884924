#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "extract/log_extractor.h"
#include "model/metrics.h"
#include "model/refs.h"
#include "output/log_index.h"
#include "output/log_page.h"

namespace runnel::output {

// The metrics that rank 0 of one attempt prints.
//
// Contract: knows of the output what the index's records say that it is given. read() looks at what
//           was added since, about model::kLogPageBytes of it, and returns how much that was.
// Threads:  blocking; one at a time.
class OutputMetrics {
 public:
  static constexpr std::int64_t kLastBytesMax = std::int64_t{16} << 20;

  OutputMetrics(std::string logs, JobId job, const extract::Patterns& patterns);

  // A record of this attempt's rank 0.
  void take(const IndexRecord& record);
  // How far the output goes now is settled before `then` is called, which may take more records:
  // the next attempt of a lane writes to the same files once the end of this one is recorded.
  template <typename Then>
  std::size_t read(std::vector<model::MetricSample>& samples, Then then) {
    LogPageBuilder page(logs_, job_, Time());
    measure(page);
    const std::size_t known = parts_.size();
    then();
    return drain(page, known, samples);
  }
  std::size_t read(std::vector<model::MetricSample>& samples) {
    return read(samples, [] {});
  }
  // Passes over what lies more than kLastBytesMax before the end of a stream. Whether there was
  // any.
  bool skip_to_last();
  // Nothing more will come.
  void end(std::vector<model::MetricSample>& samples);

 private:
  void measure(LogPageBuilder& page);
  std::size_t drain(LogPageBuilder& page, std::size_t parts,
                    std::vector<model::MetricSample>& samples);

  std::string logs_;
  JobId job_;
  std::vector<LogSource> parts_;
  std::array<extract::LogExtractor, 2> streams_;
};

// Whether both are of one attempt's rank 0.
bool is_output_of(const model::AttemptRef& attempt, const IndexRecord& record);

// The same while the attempt runs and the index grows. At the end only the last kLastBytesMax of
// what is unread are looked at, so that whoever comes late is not held up.
class FollowedOutput {
 public:
  // `from`: the index's record from which on the attempt can be found.
  FollowedOutput(std::string logs, model::AttemptRef attempt, const extract::Patterns& patterns,
                 std::int64_t from);

  void look(std::vector<model::MetricSample>& samples);
  // In pieces, each given to `take`.
  void finish(const std::function<void(std::vector<model::MetricSample>)>& take);

 private:
  void take_records();

  std::string logs_;
  model::AttemptRef attempt_;
  std::int64_t next_record_;
  OutputMetrics metrics_;
};

}  // namespace runnel::output
