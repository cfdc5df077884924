#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace runnel::search {

// Which coordinates are compared by distance, and which by being the same.
enum class Coordinate : std::uint8_t { kNumber, kChoice };

// A belief about the values between the observations, in logarithms. Values have mean 0 and
// deviation 1.
struct GpBelief {
  std::vector<double> log_lengths;  // Per coordinate: over which distance values are alike.
  double log_signal = 0;            // Variance of the function.
  double log_noise = 0;             // Variance of an observation.
};

struct GpData {
  std::vector<Coordinate> coordinates;
  std::vector<std::vector<double>> points;
  std::vector<double> values;
};

GpBelief prior_belief(std::size_t coordinates);

// Looks for the belief that the data make most plausible, together with a prior: maximum a
// posteriori, a few steps of L-BFGS from `start` and from a belief that all is noise, both at once.
//
// Contract: a function of what it was made from. Making it and each step cost O(n^3 + n^2
//           coordinates).
class BeliefFit {
 public:
  BeliefFit(GpData data, const GpBelief& start, int steps_max);
  ~BeliefFit();

  // Whether there is more to gain: false after `steps_max` steps, or earlier.
  bool step();
  // The best belief so far.
  GpBelief belief() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Gaussian process regression with the kernel Matern 5/2 and a length for each coordinate
// (Rasmussen, Williams, "Gaussian processes for machine learning", 2006, algorithm 2.1, equation
// 4.17 and section 5.1).
//
// Contract: immutable. Making it costs O(n^3), asking it O(n^2).
class GaussianProcess {
 public:
  struct Guess {
    double mean = 0;
    double deviation = 0;  // The function's own, without the noise of an observation.
  };
  struct Slopes {
    std::vector<double> mean;
    std::vector<double> deviation;  // Zero for choices, like those of the mean.
  };

  GaussianProcess(GpData data, GpBelief belief);
  GaussianProcess(GaussianProcess&&) noexcept;
  ~GaussianProcess();

  Guess guess(const std::vector<double>& at) const;
  Guess guess(const std::vector<double>& at, Slopes& slopes) const;
  // What the function itself is believed to be at observation `index`.
  double smoothed(std::size_t index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runnel::search
