#pragma once

#include <cstddef>
#include <vector>

#include "search/random_stream.h"
#include "search/unit_point.h"

namespace runnel::search {

// The density of points like the given ones: a product kernel around each and one uniform kernel,
// all of the same weight.
//
// Kernels are normal, as wide as the gap to the farther neighbour on their axis (Bergstra et al.
// 2011, section 4), and cut at its ends; or they keep a choice with a high chance. About an axis in
// which its point took no part a kernel says nothing: it is uniform there. So one density covers
// all branches of a space with conditions.
//
// Contract: immutable; the space outlives it. log_density() costs O(kernels * axes).
class Parzen {
 public:
  Parzen(const Space& space, const std::vector<const UnitPoint*>& centers);

  Point draw(RandomStream& stream) const;
  double log_density(const UnitPoint& units) const;

 private:
  // One axis of all kernels.
  struct Column {
    std::vector<double> centers;  // NaN: says nothing here.
    std::vector<double> widths;   // On the unit scale; none for a choice.
    // An interval's log density at x is log_peak - (x * sharpness - offset)^2 / 2.
    std::vector<double> sharpness;
    std::vector<double> offset;
    std::vector<double> log_peak;
    // A choice's is log_same or log_other.
    double keeps = 0;
    std::vector<double> log_same;
    std::vector<double> log_other;
  };

  void add_interval(std::size_t axis, Column& column) const;
  void add_choice(std::size_t axis, Column& column) const;
  void add_logs(std::size_t axis, double at, std::vector<double>& logs) const;
  double draw_coordinate(std::size_t axis, std::size_t kernel, RandomStream& stream) const;

  const Space& space_;
  const std::size_t kernels_;
  std::vector<Column> columns_;
};

}  // namespace runnel::search
