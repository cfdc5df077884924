#include "output/even_samples.h"

#include <gtest/gtest.h>

namespace runnel::output {
namespace {

using Samples = std::vector<model::MetricSample>;

Samples numbered(std::int64_t count, std::size_t bytes = 1) {
  Samples samples;
  for (std::int64_t i = 0; i < count; ++i) samples.push_back({i, {{"m", std::string(bytes, 'x')}}});
  return samples;
}

Samples evened(std::int64_t count, std::size_t bytes = 1) {
  EvenSamples even;
  for (model::MetricSample& sample : numbered(count, bytes)) even.take({std::move(sample)});
  return std::move(even).finish();
}

TEST(EvenSamplesTest, KeepAllOfAFew) {
  EXPECT_EQ(evened(0), Samples());
  EXPECT_EQ(evened(300), numbered(300));
}

TEST(EvenSamplesTest, KeepSomeOfManyEvenlyAndTheLast) {
  for (const std::int64_t count : {511, 512, 513, 1'024, 1'025, 100'000}) {
    const Samples kept = evened(count);
    EXPECT_GE(kept.size(), EvenSamples::kSamplesMax) << count;
    EXPECT_LE(kept.size(), 2 * EvenSamples::kSamplesMax) << count;
    EXPECT_EQ(kept.back().step, count - 1);
    const std::int64_t gap = kept[1].step - kept[0].step;
    for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
      ASSERT_EQ(kept[i].step - kept[i - 1].step, gap) << count << " at " << i;
    }
  }
}

TEST(EvenSamplesTest, KeepFewerOfThoseThatAreLarge) {
  const Samples kept = evened(1'000, 60'000);
  EXPECT_LE(kept.size() * 60'000, EvenSamples::kBytesMax + 120'000);
  EXPECT_EQ(kept.back().step, 999);
}

}  // namespace
}  // namespace runnel::output
