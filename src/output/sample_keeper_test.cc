#include "output/sample_keeper.h"

#include <gtest/gtest.h>

namespace runnel::output {
namespace {

using model::kSamplesMax;
using model::MetricSample;
using Samples = std::vector<MetricSample>;

MetricSample said(std::int64_t step, const std::string& name) { return {step, {{name, "1"}}}; }

std::size_t count_of(const Samples& samples, const std::string& name) {
  std::size_t count = 0;
  for (const MetricSample& sample : samples) {
    for (const auto& value : sample.values) count += value.first == name ? 1 : 0;
  }
  return count;
}

TEST(SampleKeeper, KeepsWhatIsFew) {
  SampleKeeper keeper;
  EXPECT_TRUE(keeper.empty());
  keeper.take(0, {said(3, "a"), said(1, "a")});
  EXPECT_EQ(std::move(keeper).finish(), (Samples{said(3, "a"), said(1, "a")})) << "told late";
}

TEST(SampleKeeper, MergesSourcesByStepAndJoinsWhatIsOfOne) {
  SampleKeeper keeper;
  keeper.take(1, {said(1, "b"), said(4, "b")});
  keeper.take(0, {said(1, "a"), said(2, "a"), said(4, "a")});
  const Samples expected = {
      {1, {{"a", "1"}, {"b", "1"}}}, said(2, "a"), {4, {{"a", "1"}, {"b", "1"}}}};
  EXPECT_EQ(std::move(keeper).finish(), expected);
}

TEST(SampleKeeper, CountsAStepOnceThatIsToldAgain) {
  SampleKeeper keeper;
  keeper.take(0, {{1, {{"loss", "0.5"}}}, {2, {{"loss", "0.4"}}}, {2, {{"accuracy", "0.9"}}}});
  // Killed before it had saved the second: the next attempt does it again.
  keeper.take(0, {{2, {{"loss", "0.41"}}}, {2, {{"loss", "0.39"}}, 1}, {3, {{"loss", "0.3"}}}});
  const std::vector<MetricSample> samples = std::move(keeper).finish();
  std::string losses;
  for (const MetricSample& sample : samples) {
    for (const auto& [name, value] : sample.values) losses += name == "loss" ? value + " " : "";
  }
  EXPECT_EQ(losses, "0.5 0.41 0.39 0.3 ") << "of each rank the last";
}

TEST(SampleKeeper, ForgetsWhatWasToldAfterAStepThatIsToldAgain) {
  SampleKeeper keeper;
  for (const std::int64_t step : {1, 2, 3, 4, 5}) keeper.take(0, {{step, {{"loss", "0.1"}}}});
  for (const std::int64_t step : {1, 2, 3}) keeper.take(0, {{step, {{"loss", "0.7"}}}});
  const Samples expected = {{1, {{"loss", "0.7"}}}, {2, {{"loss", "0.7"}}}, {3, {{"loss", "0.7"}}}};
  EXPECT_EQ(std::move(keeper).finish(), expected);
}

TEST(SampleKeeper, CountsItsBytesThroughRetries) {
  SampleKeeper keeper;
  constexpr std::int64_t kSteps = 10'000;
  for (int retry = 0; retry < 3; ++retry) {
    for (std::int64_t step = retry; step < kSteps; ++step) keeper.take(0, {said(step, "a")});
  }
  const std::size_t bytes = keeper.bytes();
  EXPECT_LT(bytes, SampleKeeper::kBytesMax);
  EXPECT_EQ(std::move(keeper).finish().back().step, kSteps - 1);
}

TEST(SampleKeeper, KeepsTheSeldomBesideTheFrequent) {
  SampleKeeper keeper;
  constexpr std::int64_t kMany = 100'001;
  for (std::int64_t step = 0; step < kMany; ++step) {
    keeper.take(0, {said(step, "train")});
    if (step % 10'000 == 0) keeper.take(0, {said(step, "test")});
  }
  const Samples samples = std::move(keeper).finish();
  EXPECT_EQ(count_of(samples, "test"), 11U);
  EXPECT_LE(count_of(samples, "train"), kSamplesMax - 11);
  EXPECT_GE(count_of(samples, "train"), kSamplesMax / 3);
  EXPECT_EQ(samples.back().step, kMany - 1);
  EXPECT_EQ(samples.back().values.size(), 2U);
}

TEST(SampleKeeper, KeepsTheLastOfEachKindAndEvenSteps) {
  for (const std::int64_t many : {1'000, 1'999, 2'000, 2'001, 3'999, 12'345}) {
    SampleKeeper keeper;
    for (std::int64_t step = 0; step < many; ++step) keeper.take(0, {said(step, "a")});
    const Samples samples = std::move(keeper).finish();
    EXPECT_LE(samples.size(), kSamplesMax);
    EXPECT_EQ(samples.back().step, many - 1) << many;
    std::int64_t widest = 0;
    for (std::size_t i = 1; i < samples.size(); ++i) {
      widest = std::max(widest, samples[i].step - samples[i - 1].step);
    }
    EXPECT_LE(widest, 4 * many / static_cast<std::int64_t>(kSamplesMax)) << many;
  }
}

TEST(SampleKeeper, LumpsKindsBeyondItsMost) {
  SampleKeeper keeper;
  for (std::int64_t i = 0; i < 5'000; ++i) keeper.take(0, {said(i, "n" + std::to_string(i))});
  EXPECT_LE(std::move(keeper).finish().size(), kSamplesMax);
}

TEST(SampleKeeper, HoldsItsBytesWhateverTheSamples) {
  SampleKeeper keeper;
  std::size_t most = 0;
  const auto take = [&](std::int64_t step, const std::string& kind, std::size_t values) {
    MetricSample sample{step, {}};
    for (std::size_t i = 0; i < values; ++i)
      sample.values.push_back({kind + std::to_string(i), "0.25"});
    keeper.take(0, {sample});
    most = std::max(most, keeper.bytes());
  };
  for (std::int64_t step = 0; step < 1'000; ++step) {
    take(step, "wide", 500);
    take(step, "k" + std::to_string(step % 70), 20);
    take(step, "loss", 1);
  }
  EXPECT_GT(most, SampleKeeper::kBytesMax / 2) << "the test comes near the limit";
  EXPECT_LE(most, SampleKeeper::kBytesMax);
  const Samples samples = std::move(keeper).finish();
  EXPECT_EQ(samples.back().step, 999);
  for (const char* name : {"loss0", "wide0"}) EXPECT_GE(count_of(samples, name), 10U) << name;
}

TEST(SampleKeeper, BeginsAKindAnewThatIsTooLargeToBeThinned) {
  SampleKeeper keeper;
  MetricSample sample{1, {{"huge", std::string(SampleKeeper::kBytesMax, '1')}}};
  keeper.take(0, {said(1, "loss"), sample});
  EXPECT_LE(keeper.bytes(), SampleKeeper::kBytesMax);
  EXPECT_EQ(std::move(keeper).finish(), (Samples{said(1, "loss")}));
}

}  // namespace
}  // namespace runnel::output
