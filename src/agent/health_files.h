#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/metrics.h"
#include "model/refs.h"
#include "output/metrics_file.h"
#include "output/rank_output.h"

namespace runnel::agent {

// What the files of one job tell of the attempts whose ranks are watched.
//
// Contract: look() forgets whom it is not asked for. What an earlier attempt wrote to the task's
//           metrics is not read (metrics_begin.h); where nobody noted how far that went, neither is
//           what is there at the first look.
// Threads:  blocking; one at a time.
// Limits:   per look 256 KiB of an attempt's metrics, and what RankOutputs says.
class HealthFiles {
 public:
  struct Asked {
    output::RankOutputs::Begun begun =
        output::RankOutputs::Begun::kLater;  // When it was asked for first.
    std::vector<std::int32_t> sized;         // Ranks whose output is measured.
  };
  struct Seen {
    std::vector<model::MetricSample> samples;  // New ones, of all ranks.
    bool behind = false;                       // There are more.
    std::map<std::int32_t, output::RankOutputs::Size> sizes;
  };
  using Attempts = std::map<model::AttemptRef, Asked>;

  explicit HealthFiles(std::string home) : home_(home), outputs_(std::move(home)) {}

  std::map<model::AttemptRef, Seen> look(const Attempts& asked);
  // The unread samples of an attempt when a rank of it ends; of more than kRestMax so many, and
  // each rank's first with a value that is not finite: of `metric`, or of any where that is empty.
  // kWhole: all ranks have ended, and the last line is read, ended or not.
  enum class End : std::uint8_t { kOfSome, kWhole };
  static constexpr std::size_t kRestMax = 10'000;
  std::vector<model::MetricSample> rest(const model::AttemptRef& attempt, End end,
                                        const std::string& metric);

 private:
  output::MetricsFile& metrics_of(const model::AttemptRef& attempt);
  void keep_only(const Attempts& asked);

  std::string home_;
  output::RankOutputs outputs_;
  std::map<model::AttemptRef, output::MetricsFile> metrics_;
  std::set<model::AttemptRef> followed_;
};

}  // namespace runnel::agent
