#pragma once

#include <vector>

#include "search/gaussian_process.h"
#include "search/random_stream.h"
#include "search/unit_point.h"

namespace runnel::search {

// The coordinates of a point as a Gaussian process compares them: what takes no part stands in the
// middle, like in all points that lack it.
std::vector<double> gp_coordinates(const Space& space, const UnitPoint& units);
std::vector<Coordinate> gp_kinds(const Space& space);

// Looks for the point with the highest expected improvement below `level`.
//
// Contract: borrows what it was made from. A function of that and of the stream. Candidates all
//           over the space and near to `anchors` are compared, the best of both improved: intervals
//           along the slope, choices, ranges and steps by trying other values, in turn.
class ImprovementSearch {
 public:
  ImprovementSearch(const Space& space, const GaussianProcess& process, double level)
      : space_(space), process_(process), level_(level) {}

  Point best(const std::vector<UnitPoint>& anchors, RandomStream& stream) const;

 private:
  struct Candidate {
    UnitPoint units;
    double score = 0;  // The logarithm of the expected improvement.
  };

  double score(const UnitPoint& units) const;
  Candidate scored(const UnitPoint& units) const;
  UnitPoint near(UnitPoint units, double width, RandomStream& stream) const;
  std::vector<Candidate> over_all(RandomStream& stream) const;
  std::vector<Candidate> around(const std::vector<UnitPoint>& anchors, RandomStream& stream) const;
  Candidate improved(Candidate candidate, RandomStream& stream) const;
  Candidate along_slope(const Candidate& from) const;
  Candidate with_other_values(Candidate from, RandomStream& stream) const;

  const Space& space_;
  const GaussianProcess& process_;
  const double level_;
};

}  // namespace runnel::search
