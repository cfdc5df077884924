#include "search/gaussian_process.h"

#include <cmath>

#include <gtest/gtest.h>

#include "search/expected_improvement.h"
#include "search/matern.h"
#include "search/random_stream.h"

namespace runnel::search {
namespace {

// Values that the first coordinate makes, fast, and the second does not.
GpData waves(std::size_t count) {
  GpData data{.coordinates = {Coordinate::kNumber, Coordinate::kNumber}};
  RandomStream stream(3);
  for (std::size_t index = 0; index < count; ++index) {
    data.points.push_back({stream.uniform(), stream.uniform()});
    data.values.push_back(1.4 * std::sin(9 * data.points.back()[0]));
  }
  return data;
}

GpBelief fitted_belief(const GpData& data, int steps_max) {
  BeliefFit fit(data, prior_belief(data.coordinates.size()), steps_max);
  while (fit.step()) continue;
  return fit.belief();
}

TEST(GaussianProcess, PassesThroughWhatItObserved) {
  const GpData data = waves(20);
  const GaussianProcess process(data, {{-1, -1}, 0, -13});
  for (std::size_t index = 0; index < data.points.size(); ++index) {
    const auto guess = process.guess(data.points[index]);
    EXPECT_NEAR(guess.mean, data.values[index], 1e-3);
    EXPECT_LT(guess.deviation, 0.01);
    EXPECT_NEAR(process.smoothed(index), guess.mean, 1e-6);
  }
}

TEST(GaussianProcess, IsUnsureFarAway) {
  const GaussianProcess process(waves(5), {{-3, -3}, 0, -13});
  const auto guess = process.guess({9, 9});
  EXPECT_NEAR(guess.mean, 0, 1e-6);
  EXPECT_NEAR(guess.deviation, 1, 1e-6);
}

TEST(GaussianProcess, SlopesAreThoseOfItsGuesses) {
  const GaussianProcess process(waves(15), {{-1, 0}, 0.3, -8});
  const std::vector<double> at = {0.37, 0.61};
  GaussianProcess::Slopes slopes;
  process.guess(at, slopes);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::vector<double> above = at;
    std::vector<double> below = at;
    above[axis] += 1e-5;
    below[axis] -= 1e-5;
    const auto high = process.guess(above);
    const auto low = process.guess(below);
    EXPECT_NEAR(slopes.mean[axis], (high.mean - low.mean) / 2e-5, 1e-4);
    EXPECT_NEAR(slopes.deviation[axis], (high.deviation - low.deviation) / 2e-5, 1e-4);
  }
}

TEST(GaussianProcess, ChoicesAreAlikeOrNot) {
  GpData data{
      .coordinates = {Coordinate::kChoice}, .points = {{0}, {1}, {2}}, .values = {1, -1, 0.2}};
  const GaussianProcess process(data, {{-1}, 0, -10});
  EXPECT_NEAR(process.guess({1}).mean, -1, 0.01);
  EXPECT_GT(process.guess({3}).deviation, 0.5);
  GaussianProcess::Slopes slopes;
  process.guess({1}, slopes);
  EXPECT_EQ(slopes.mean[0], 0);
}

TEST(BeliefFit, FindsWhatMatters) {
  const GpData data = waves(40);
  const GpBelief belief = fitted_belief(data, 50);
  EXPECT_LT(belief.log_lengths[0] + 1, belief.log_lengths[1]);
  EXPECT_LT(belief.log_noise, -7);
  const GaussianProcess process(data, belief);
  for (const double x : {0.2, 0.5, 0.8}) {
    EXPECT_NEAR(process.guess({x, 0.5}).mean, 1.4 * std::sin(9 * x), 0.1);
  }
}

TEST(BeliefFit, IsWhatItBeganFromUntilItsFirstStepAndEndsAfterTheLast) {
  const GpBelief start{{-1, -1}, 0, -4};
  BeliefFit fit(waves(30), start, 3);
  EXPECT_EQ(fit.belief().log_lengths, start.log_lengths);
  EXPECT_TRUE(fit.step());
  const GpBelief after_one = fit.belief();
  EXPECT_NE(after_one.log_lengths, start.log_lengths);
  EXPECT_TRUE(fit.step());
  EXPECT_FALSE(fit.step());
  const GpBelief last = fit.belief();
  EXPECT_FALSE(fit.step());
  EXPECT_EQ(fit.belief().log_lengths, last.log_lengths);
}

TEST(BeliefFit, SeesNoise) {
  GpData data = waves(60);
  RandomStream stream(8);
  for (double& value : data.values) value += 0.5 * stream.normal();
  const GpBelief belief = fitted_belief(data, 50);
  EXPECT_NEAR(std::exp(belief.log_noise), 0.25, 0.15);
}

TEST(Matern, FallsAsItsDerivativeSays) {
  EXPECT_EQ(matern(0).value, 1);
  for (const double squared : {0.01, 0.5, 4.0}) {
    const double slope = (matern(squared + 1e-6).value - matern(squared - 1e-6).value) / 2e-6;
    EXPECT_NEAR(matern(squared).fall, -2 * slope, 1e-6);
  }
}

TEST(ExpectedImprovement, IsTheIntegralOfWhatIsGained) {
  for (const double z : {-3.0, 0.0, 2.0}) {
    double sum = 0;
    for (double at = -10; at < z; at += 1e-4) {
      sum += (z - at) * std::exp(-at * at / 2) / std::sqrt(2 * M_PI) * 1e-4;
    }
    EXPECT_NEAR(log_improvement(z).value, std::log(sum), 1e-3);
  }
}

TEST(ExpectedImprovement, IsSmoothFarOut) {
  EXPECT_NEAR(log_improvement(-25 + 1e-9).value, log_improvement(-25 - 1e-9).value, 1e-6);
  EXPECT_NEAR(log_improvement(-25 + 1e-9).slope, log_improvement(-25 - 1e-9).slope, 1e-6);
  for (const double z : {-1000.0, -30.0, -24.0, -4.0, 0.0, 5.0}) {
    const double h = 1e-4;
    const double slope = (log_improvement(z + h).value - log_improvement(z - h).value) / (2 * h);
    EXPECT_NEAR(log_improvement(z).slope, slope, 1e-4 * (1 + std::abs(slope)));
  }
}

}  // namespace
}  // namespace runnel::search
