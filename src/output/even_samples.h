#pragma once

#include <cstddef>
#include <vector>

#include "model/metrics.h"

namespace runnel::output {

// A bounded number of any number of samples, evenly spaced, and the last of them.
//
// Threads:  one at a time.
// Limits:   2 * kSamplesMax samples, and about kBytesMax of them.
class EvenSamples {
 public:
  static constexpr std::size_t kSamplesMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{2} << 20;

  void take(std::vector<model::MetricSample> samples);
  std::vector<model::MetricSample> finish() &&;

 private:
  void add(model::MetricSample sample);
  void halve();

  std::vector<model::MetricSample> kept_;  // Every `every_`-th, and perhaps the last.
  std::size_t every_ = 1;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool last_is_extra_ = false;
};

}  // namespace runnel::output
