#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "search/random_stream.h"

namespace runnel::search {

// One run of the covariance matrix adaptation evolution strategy: a normal distribution that learns
// from ranked samples (Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772, 2016,
// appendix A, with negative weights for the worse half).
//
// Contract: samples may come from elsewhere: their length is cut to what the distribution finds
//           usual (Hansen, "Injecting external solutions into CMA-ES", arXiv:1110.4181, 2011). The
//           covariance is decomposed only as often as it can have changed (section B.2).
class CmaEs {
 public:
  struct Start {
    std::vector<double> mean;
    double step = 0;
    std::size_t population = 0;  // At least 2.
  };

  explicit CmaEs(const Start& start);
  CmaEs(CmaEs&&) noexcept;
  CmaEs& operator=(CmaEs&&) noexcept;
  ~CmaEs();

  std::size_t population() const;
  std::vector<double> mean() const;
  double deviation(std::size_t axis) const;
  std::vector<double> sample(RandomStream& stream) const;
  // One generation, best first; as many as the population has.
  void update(const std::vector<std::vector<double>>& ranked);
  // Whether it cannot get on: no deviation is as large as `least`, or the matrix is degenerate.
  bool converged(double least) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runnel::search
