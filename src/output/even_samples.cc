#include "output/even_samples.h"

#include <utility>

#include "output/sample_keeper.h"

namespace runnel::output {
void EvenSamples::take(std::vector<model::MetricSample> samples) {
  for (model::MetricSample& sample : samples) add(std::move(sample));
}

void EvenSamples::add(model::MetricSample sample) {
  if (last_is_extra_) {
    bytes_ -= bytes_of(kept_.back());
    kept_.pop_back();
  }
  last_is_extra_ = count_++ % every_ != 0;
  bytes_ += bytes_of(sample);
  kept_.push_back(std::move(sample));
  while (kept_.size() >= 2 * kSamplesMax || (bytes_ > kBytesMax && kept_.size() > 2)) halve();
}

void EvenSamples::halve() {
  std::vector<model::MetricSample> kept;
  for (std::size_t i = 0; i < kept_.size(); i += 2) kept.push_back(std::move(kept_[i]));
  // A sample that was extra is so still, unless it stands where one is kept anyway.
  const bool last_is_left = kept_.size() % 2 == 0;
  if (last_is_left) kept.push_back(std::move(kept_.back()));
  last_is_extra_ = last_is_left || last_is_extra_;
  kept_ = std::move(kept);
  every_ *= 2;
  bytes_ = 0;
  for (const model::MetricSample& sample : kept_) bytes_ += bytes_of(sample);
}

std::vector<model::MetricSample> EvenSamples::finish() && { return std::move(kept_); }

}  // namespace runnel::output
