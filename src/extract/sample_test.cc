#include "extract/sample.h"

#include <gtest/gtest.h>

#include "model/report.h"

namespace runnel::extract {
namespace {

using Samples = std::vector<MetricSample>;

TEST(AppendSample, JoinsWhatIsOfOneStepInARow) {
  Samples samples;
  append_sample(samples, {1, {{"b", "1"}}});
  append_sample(samples, {1, {{"a", "2"}, {"c", "3"}}});
  EXPECT_EQ(samples, (Samples{{1, {{"a", "2"}, {"b", "1"}, {"c", "3"}}}}));
}

TEST(AppendSample, KeepsApartWhatIsSaidTwiceOrOfAnotherStep) {
  Samples samples;
  append_sample(samples, {1, {{"a", "1"}}});
  append_sample(samples, {1, {{"a", "2"}}});
  append_sample(samples, {2, {{"b", "3"}}});
  append_sample(samples, {1, {{"b", "4"}}});
  EXPECT_EQ(samples.size(), 4U);
}

TEST(AppendSample, MakesNoSampleThatIsTooLargeForAReport) {
  Samples samples;
  for (std::size_t i = 0; i < model::kMetricsMax + 1; ++i) {
    append_sample(samples, {1, {{"m" + std::to_string(i), "1"}}});
  }
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].values.size(), model::kMetricsMax);
}

}  // namespace
}  // namespace runnel::extract
