#include "search/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <Eigen/Dense>

#include "base/check.h"
#include "search/box_minimizer.h"
#include "search/matern.h"

namespace runnel::search {
namespace {

using GpMatrix = Eigen::MatrixXd;
using GpVector = Eigen::VectorXd;
using Row = std::vector<double>;

// A difference in one coordinate; two choices are as far apart as the ends of an interval.
double gap(Coordinate kind, double a, double b) {
  if (kind == Coordinate::kChoice) return a == b ? 0 : 1;
  return a - b;
}

// 1 / length^2 per coordinate.
Row weights_of(const GpBelief& belief) {
  Row weights;
  for (const double length : belief.log_lengths) weights.push_back(std::exp(-2 * length));
  return weights;
}

double squared_distance(const std::vector<Coordinate>& kinds, const Row& weights, const Row& a,
                        const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const double distance = gap(kinds[i], a[i], b[i]);
    sum += weights[i] * distance * distance;
  }
  return sum;
}

}  // namespace

// What the observations say under one belief, the lower triangle of every matrix.
struct GpFit {
  GpFit(const GpData& data, const GpBelief& belief);

  double loss() const {
    const double n = static_cast<double>(values.size());
    const double log_det = 2 * lower.diagonal().array().log().sum();
    return (values.dot(solved) + log_det + n * std::log(2 * std::numbers::pi)) / 2;
  }

  GpVector values;
  GpMatrix kernel;  // Without the noise.
  GpMatrix fall;
  GpMatrix lower;  // The Cholesky factor of kernel + noise.
  GpVector solved;
};

GpFit::GpFit(const GpData& data, const GpBelief& belief)
    : values(Eigen::Map<const GpVector>(data.values.data(),
                                        static_cast<Eigen::Index>(data.values.size()))),
      kernel(GpMatrix::Zero(values.size(), values.size())),
      fall(kernel) {
  const double signal = std::exp(belief.log_signal);
  const Row weights = weights_of(belief);
  for (Eigen::Index j = 0; j < values.size(); ++j) {
    for (Eigen::Index i = j; i < values.size(); ++i) {
      const Matern at = matern(squared_distance(data.coordinates, weights,
                                                data.points[static_cast<std::size_t>(i)],
                                                data.points[static_cast<std::size_t>(j)]));
      kernel(i, j) = signal * at.value;
      fall(i, j) = signal * at.fall;
    }
  }
  lower = kernel;
  lower.diagonal().array() += std::exp(belief.log_noise);
  const Eigen::LLT<Eigen::Ref<GpMatrix>> factor(lower);
  CHECK(factor.info() == Eigen::Success, "the noise does not keep a kernel definite");
  solved = factor.solve(values);
}

namespace {

// ---- the prior ---------------------------------------------------------------------------------

struct NormalPrior {
  double mean;
  double deviation;
};

// Lengths grow with the square root of the number of coordinates, so that the function is as
// complex in many of them as in few (Hvarfner, Hellsten, Nardi, "Vanilla Bayesian optimization
// performs great in high dimensions", ICML 2024, section 4).
NormalPrior length_prior(std::size_t coordinates) {
  const double n = static_cast<double>(std::max<std::size_t>(coordinates, 1));
  return {-0.8 + std::log(n) / 2, 1.0};
}

constexpr NormalPrior kSignalPrior{0, 1};
constexpr NormalPrior kNoisePrior{-9, 3};
constexpr double kLogLengthMin = -4.6;  // A hundredth of the interval.
constexpr double kLogLengthMax = 4.6;
constexpr double kLogSignalMin = -3;
constexpr double kLogSignalMax = 5;
constexpr double kLogNoiseMin = -14;  // Enough to keep the matrix definite.
constexpr double kLogNoiseMax = 0;
constexpr double kLogNoiseOfRough = -1.5;

// Adds minus the logarithm of the prior and its slope.
void add_prior(const NormalPrior& prior, double at, double& loss, double& slope) {
  const double z = (at - prior.mean) / prior.deviation;
  loss += z * z / 2;
  slope += z / prior.deviation;
}

GpBelief unpacked(const Row& packed) {
  GpBelief belief;
  belief.log_lengths.assign(packed.begin(), packed.end() - 2);
  belief.log_signal = packed[packed.size() - 2];
  belief.log_noise = packed[packed.size() - 1];
  return belief;
}

Row packed(const GpBelief& belief) {
  Row row = belief.log_lengths;
  row.push_back(belief.log_signal);
  row.push_back(belief.log_noise);
  return row;
}

// Half the trace of (K^-1 - a a') dK for each entry of the belief; equation 5.9.
void add_slopes(const GpData& data, const GpBelief& belief, const GpFit& fit, Row& gradient) {
  const Eigen::Index n = fit.values.size();
  GpMatrix inverse = GpMatrix::Identity(n, n);
  fit.lower.triangularView<Eigen::Lower>().solveInPlace(inverse);
  GpMatrix pull = GpMatrix::Zero(n, n);
  pull.selfadjointView<Eigen::Lower>().rankUpdate(inverse.transpose());
  pull.selfadjointView<Eigen::Lower>().rankUpdate(fit.solved, -1.0);
  const Row weights = weights_of(belief);
  const std::size_t size = weights.size();
  double signal = 0;
  for (Eigen::Index j = 0; j < n; ++j) {
    signal += pull(j, j) * fit.kernel(j, j) / 2;
    for (Eigen::Index i = j + 1; i < n; ++i) {
      signal += pull(i, j) * fit.kernel(i, j);
      const double force = pull(i, j) * fit.fall(i, j);
      const Row& a = data.points[static_cast<std::size_t>(i)];
      const Row& b = data.points[static_cast<std::size_t>(j)];
      for (std::size_t axis = 0; axis < size; ++axis) {
        const double distance = gap(data.coordinates[axis], a[axis], b[axis]);
        gradient[axis] += force * weights[axis] * distance * distance;
      }
    }
  }
  gradient[size] += signal;
  gradient[size + 1] += pull.diagonal().sum() * std::exp(belief.log_noise) / 2;
}

double posterior_loss(const GpData& data, const Row& at, Row& gradient) {
  const GpBelief belief = unpacked(at);
  const GpFit fit(data, belief);
  double loss = fit.loss();
  std::ranges::fill(gradient, 0.0);
  add_slopes(data, belief, fit, gradient);
  const std::size_t size = belief.log_lengths.size();
  for (std::size_t axis = 0; axis < size; ++axis) {
    add_prior(length_prior(size), at[axis], loss, gradient[axis]);
  }
  add_prior(kSignalPrior, at[size], loss, gradient[size]);
  add_prior(kNoisePrior, at[size + 1], loss, gradient[size + 1]);
  return loss;
}

}  // namespace

GpBelief prior_belief(std::size_t coordinates) {
  return {std::vector<double>(coordinates, length_prior(coordinates).mean), kSignalPrior.mean,
          kNoisePrior.mean};
}

namespace {

Box box_of(std::size_t coordinates) {
  Box box{Row(coordinates, kLogLengthMin), Row(coordinates, kLogLengthMax)};
  box.low.insert(box.low.end(), {kLogSignalMin, kLogNoiseMin});
  box.high.insert(box.high.end(), {kLogSignalMax, kLogNoiseMax});
  return box;
}

// One that takes the differences between neighbours for noise is a valley of its own.
GpBelief rough_belief(std::size_t coordinates) {
  GpBelief rough = prior_belief(coordinates);
  rough.log_noise = kLogNoiseOfRough;
  return rough;
}

}  // namespace

struct BeliefFit::State {
  State(GpData observed, const GpBelief& start, int steps_max)
      : data(std::move(observed)),
        box(box_of(data.coordinates.size())),
        loss([this](const Row& at, Row& gradient) { return posterior_loss(data, at, gradient); }),
        smooth(loss, packed(start), box),
        rough(loss, packed(rough_belief(data.coordinates.size())), box),
        steps_left(steps_max) {}

  GpData data;
  Box box;
  SmoothFunction loss;
  Descent smooth;
  Descent rough;
  bool smooth_gains = true;
  bool rough_gains = true;
  int steps_left;
};

BeliefFit::BeliefFit(GpData data, const GpBelief& start, int steps_max) {
  CHECK(data.points.size() == data.values.size(), "points without values");
  state_ = std::make_unique<State>(std::move(data), start, steps_max);
}

BeliefFit::~BeliefFit() = default;

bool BeliefFit::step() {
  State& s = *state_;
  if (s.steps_left <= 0) return false;
  s.smooth_gains = s.smooth_gains && s.smooth.step();
  s.rough_gains = s.rough_gains && s.rough.step();
  return --s.steps_left > 0 && (s.smooth_gains || s.rough_gains);
}

GpBelief BeliefFit::belief() const {
  const Minimum smooth = state_->smooth.result();
  const Minimum rough = state_->rough.result();
  return unpacked(rough.value < smooth.value ? rough.at : smooth.at);
}

// ---- guessing ----------------------------------------------------------------------------------

struct GaussianProcess::State {
  State(GpData observed, GpBelief believed)
      : data(std::move(observed)),
        belief(std::move(believed)),
        weights(weights_of(belief)),
        signal(std::exp(belief.log_signal)),
        fit(data, belief) {}

  GpData data;
  GpBelief belief;
  Row weights;
  double signal;
  GpFit fit;
};

GaussianProcess::GaussianProcess(GpData data, GpBelief belief)
    : state_(std::make_unique<State>(std::move(data), std::move(belief))) {}

GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

namespace {

constexpr double kLeastVariance = 1e-12;

// The kernel between a place and every observation.
void kernel_row(const GpData& data, const Row& weights, double signal, const Row& at,
                GpVector& values, GpVector& falls) {
  const std::size_t n = data.points.size();
  values.resize(static_cast<Eigen::Index>(n));
  falls.resize(static_cast<Eigen::Index>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const Matern here = matern(squared_distance(data.coordinates, weights, at, data.points[i]));
    values[static_cast<Eigen::Index>(i)] = signal * here.value;
    falls[static_cast<Eigen::Index>(i)] = signal * here.fall;
  }
}

}  // namespace

GaussianProcess::Guess GaussianProcess::guess(const std::vector<double>& at) const {
  const State& s = *state_;
  GpVector row;
  GpVector falls;
  kernel_row(s.data, s.weights, s.signal, at, row, falls);
  const double mean = row.dot(s.fit.solved);
  s.fit.lower.triangularView<Eigen::Lower>().solveInPlace(row);
  return {mean, std::sqrt(std::max(kLeastVariance, s.signal - row.squaredNorm()))};
}

GaussianProcess::Guess GaussianProcess::guess(const std::vector<double>& at, Slopes& slopes) const {
  const State& s = *state_;
  GpVector row;
  GpVector falls;
  kernel_row(s.data, s.weights, s.signal, at, row, falls);
  const double mean = row.dot(s.fit.solved);
  s.fit.lower.triangularView<Eigen::Lower>().solveInPlace(row);
  const double variance = std::max(kLeastVariance, s.signal - row.squaredNorm());
  const double deviation = std::sqrt(variance);
  s.fit.lower.triangularView<Eigen::Lower>().transpose().solveInPlace(row);  // Now K^-1 k.
  slopes.mean.assign(at.size(), 0.0);
  slopes.deviation.assign(at.size(), 0.0);
  for (std::size_t i = 0; i < s.data.points.size(); ++i) {
    const auto index = static_cast<Eigen::Index>(i);
    const double on_mean = -falls[index] * s.fit.solved[index];
    const double on_deviation = falls[index] * row[index] / deviation;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (s.data.coordinates[axis] == Coordinate::kChoice) continue;
      const double pull = s.weights[axis] * (at[axis] - s.data.points[i][axis]);
      slopes.mean[axis] += on_mean * pull;
      slopes.deviation[axis] += on_deviation * pull;
    }
  }
  return {mean, deviation};
}

double GaussianProcess::smoothed(std::size_t index) const {
  const State& s = *state_;
  const auto at = static_cast<Eigen::Index>(index);
  return s.fit.values[at] - std::exp(s.belief.log_noise) * s.fit.solved[at];
}

}  // namespace runnel::search
