#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/metrics.h"

namespace runnel::output {

// The size of a sample in memory, about.
std::size_t bytes_of(const model::MetricSample& sample);

// Keeps about model::kSamplesMax of any number of samples, shared fairly between their kinds: what
// is said seldom is not crowded out by what is said often.
//
// Contract: a kind is a source with the names of its samples. Of each its last sample is kept, and
//           the others evenly. finish() yields them in the order of each source, sources being
//           merged by step; what stands together of one step becomes one sample. A step that is
//           told again, by an attempt that went back to it, replaces all from it on.
// Threads:  one at a time.
// Limits:   2 * kSamplesMax samples and kToldMax steps of each of kKindsMax kinds at any time;
//           later kinds are one. kBytesMax in all: at it the kind that holds most is thinned, and
//           one that holds nothing more to thin begins anew.
class SampleKeeper {
 public:
  static constexpr std::size_t kKindsMax = 100;
  // Steps of a kind that are known again; an attempt does not go back further than to a checkpoint.
  static constexpr std::size_t kToldMax = 4 * model::kSamplesMax;

  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;

  void take(std::size_t source, std::vector<model::MetricSample> samples);
  bool empty() const { return kinds_.empty(); }
  std::size_t bytes() const { return bytes_; }
  std::vector<model::MetricSample> finish() &&;

 private:
  struct Kept {
    std::int64_t number = 0;  // Its place among all that were taken.
    model::MetricSample sample;
  };
  struct Kind {
    std::set<std::pair<std::int64_t, std::int32_t>> told;  // The last steps, with the rank.
    std::vector<Kept> kept;  // Every `every`-th, and perhaps the last.
    std::int64_t every = 1;
    std::int64_t count = 0;
    bool last_is_extra = false;
    std::size_t bytes = 0;  // The size in memory of all that is above.
  };
  using Key = std::pair<std::size_t, std::string>;

  static bool is_new(Kind& kind, const model::MetricSample& sample);
  static void go_back(Kind& kind, const model::MetricSample& sample);
  static void add(Kind& kind, Kept sample);
  static void halve(Kind& kind);
  static void forget_steps(Kind& kind, std::size_t most);
  void make_room();
  std::size_t fair_share() const;

  std::map<Key, Kind> kinds_;
  std::size_t bytes_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace runnel::output
