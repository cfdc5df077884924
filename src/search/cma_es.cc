#include "search/cma_es.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Dense>

#include "base/check.h"
#include "search/recombination.h"

namespace runnel::search {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// A larger ratio of the covariance's eigenvalues is noise of the arithmetic.
constexpr double kConditionMax = 1e14;

Vector as_vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

std::vector<double> as_values(const Vector& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

}  // namespace

struct CmaEs::State {
  State(const Start& start, std::size_t axes)
      : size(static_cast<Eigen::Index>(axes)),
        constants(axes, start.population),
        population(start.population),
        mean(as_vector(start.mean)),
        step(start.step),
        covariance(Matrix::Identity(size, size)),
        basis(Matrix::Identity(size, size)),
        scale(Vector::Ones(size)),
        path_step(Vector::Zero(size)),
        path(Vector::Zero(size)) {}

  // C^(-1/2) v.
  Vector whitened(const Vector& v) const {
    return basis * (basis.transpose() * v).cwiseQuotient(scale);
  }
  std::vector<Vector> usual_moves(const std::vector<std::vector<double>>& ranked) const;
  bool adapt_paths(const Vector& move);
  void adapt_covariance(const std::vector<Vector>& moves, bool stalled);
  void decompose();

  Eigen::Index size;
  Recombination constants;
  std::size_t population;
  Vector mean;
  double step;
  Matrix covariance;
  Matrix basis;  // The covariance is basis * diag(scale^2) * basis'.
  Vector scale;
  Vector path_step;
  Vector path;
  int generation = 0;
  int decomposed = 0;  // The generation of `basis`.
};

// The steps from the mean to the samples in units of `step`, none longer than the distribution
// itself would have made it.
std::vector<Vector> CmaEs::State::usual_moves(
    const std::vector<std::vector<double>>& ranked) const {
  const auto n = static_cast<double>(size);
  const double longest = std::sqrt(n) + 2 * n / (n + 2);
  std::vector<Vector> moves;
  for (const auto& sample : ranked) {
    Vector move = (as_vector(sample) - mean) / step;
    const double length = whitened(move).norm();
    if (length > longest) move *= longest / length;
    moves.push_back(std::move(move));
  }
  return moves;
}

// Whether the step has grown so fast that the covariance's path has to wait.
bool CmaEs::State::adapt_paths(const Vector& move) {
  const Recombination& c = constants;
  const auto n = static_cast<double>(size);
  path_step = (1 - c.rate_step) * path_step +
              std::sqrt(c.rate_step * (2 - c.rate_step) * c.effective) * whitened(move);
  const double length = path_step.norm();
  const double settled = std::sqrt(1 - std::pow(1 - c.rate_step, 2.0 * (generation + 1)));
  const bool stalled = length / settled >= (1.4 + 2 / (n + 1)) * c.usual_length;
  path *= 1 - c.rate_path;
  if (!stalled) path += std::sqrt(c.rate_path * (2 - c.rate_path) * c.effective) * move;
  step *= std::exp(std::min(1.0, c.rate_step / c.damping_step * (length / c.usual_length - 1)));
  return stalled;
}

void CmaEs::State::adapt_covariance(const std::vector<Vector>& moves, bool stalled) {
  const Recombination& c = constants;
  double sum = 0;
  for (const double weight : c.weights) sum += weight;
  const double lost = stalled ? c.rate_one * c.rate_path * (2 - c.rate_path) : 0;
  covariance *= 1 + lost - c.rate_one - c.rate_all * sum;
  covariance += c.rate_one * path * path.transpose();
  for (std::size_t rank = 0; rank < moves.size(); ++rank) {
    double weight = c.weights[rank];
    // So that what is taken away in any direction is bounded.
    if (weight < 0) {
      weight *= static_cast<double>(size) / (whitened(moves[rank]).squaredNorm() + 1e-12);
    }
    covariance += c.rate_all * weight * moves[rank] * moves[rank].transpose();
  }
}

void CmaEs::State::decompose() {
  const double changes = 10 * static_cast<double>(size) * (constants.rate_one + constants.rate_all);
  if (size == 0 || (generation - decomposed) * changes < 1) return;
  decomposed = generation;
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(covariance);
  CHECK(solver.info() == Eigen::Success, "a symmetric matrix has no eigenvalues");
  basis = solver.eigenvectors();
  const double least = solver.eigenvalues().maxCoeff() / kConditionMax;
  scale = solver.eigenvalues().cwiseMax(least).cwiseSqrt();
}

CmaEs::CmaEs(const Start& start) : state_(std::make_unique<State>(start, start.mean.size())) {
  CHECK(start.step > 0, "a step of no length");
}

CmaEs::CmaEs(CmaEs&&) noexcept = default;
CmaEs& CmaEs::operator=(CmaEs&&) noexcept = default;
CmaEs::~CmaEs() = default;

std::size_t CmaEs::population() const { return state_->population; }

std::vector<double> CmaEs::mean() const { return as_values(state_->mean); }

double CmaEs::deviation(std::size_t axis) const {
  const auto at = static_cast<Eigen::Index>(axis);
  return state_->step * std::sqrt(std::max(0.0, state_->covariance(at, at)));
}

std::vector<double> CmaEs::sample(RandomStream& stream) const {
  Vector draw(state_->size);
  for (Eigen::Index axis = 0; axis < state_->size; ++axis) draw[axis] = stream.normal();
  return as_values(state_->mean +
                   state_->step * (state_->basis * state_->scale.cwiseProduct(draw)));
}

void CmaEs::update(const std::vector<std::vector<double>>& ranked) {
  CHECK(ranked.size() == state_->population, "a generation of another size");
  const std::vector<Vector> moves = state_->usual_moves(ranked);
  Vector move = Vector::Zero(state_->size);
  for (std::size_t rank = 0; rank < moves.size(); ++rank) {
    const double weight = state_->constants.weights[rank];
    if (weight > 0) move += weight * moves[rank];
  }
  state_->mean += state_->step * move;
  const bool stalled = state_->adapt_paths(move);
  state_->adapt_covariance(moves, stalled);
  ++state_->generation;
  state_->decompose();
}

bool CmaEs::converged(double least) const {
  if (state_->size == 0) return false;
  const double widest = state_->step * state_->scale.maxCoeff();
  const double ratio = state_->scale.maxCoeff() / state_->scale.minCoeff();
  return widest < least || ratio * ratio >= kConditionMax;
}

}  // namespace runnel::search
