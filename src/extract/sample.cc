#include "extract/sample.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "model/report.h"

namespace runnel::extract {
namespace {

bool by_name(const std::pair<std::string, std::string>& a,
             const std::pair<std::string, std::string>& b) {
  return a.first < b.first;
}

bool joins(const MetricSample& last, const MetricSample& sample) {
  if (last.step != sample.step) return false;
  if (last.values.size() + sample.values.size() > model::kMetricsMax) return false;
  return std::none_of(sample.values.begin(), sample.values.end(), [&](const auto& value) {
    return std::binary_search(last.values.begin(), last.values.end(), value, by_name);
  });
}

}  // namespace

void append_sample(std::vector<MetricSample>& samples, MetricSample sample) {
  CHECK(!sample.values.empty(), "a sample says nothing");
  CHECK(sample.step >= 0, "a sample is of a step below zero");
  if (samples.empty() || !joins(samples.back(), sample)) {
    samples.push_back(std::move(sample));
    return;
  }
  std::vector<std::pair<std::string, std::string>>& values = samples.back().values;
  std::move(sample.values.begin(), sample.values.end(), std::back_inserter(values));
  std::sort(values.begin(), values.end(), by_name);
}

}  // namespace runnel::extract
