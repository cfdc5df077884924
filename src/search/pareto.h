#pragma once

#include <cstddef>
#include <vector>

namespace runnel::search {

// One value per objective; smaller is better. All finite, and equally many in each list.
using Values = std::vector<double>;

// Whether `a` is nowhere worse than `b` and somewhere better.
bool dominates(const Values& a, const Values& b);

// The positions of those that none dominates, ascending; of equal ones all. O(n log n) and a
// comparison of each with the front, so a hundred thousand are fine while the front is small.
std::vector<std::size_t> pareto_front(const std::vector<Values>& values);

// All positions, front by front: the first holds what none dominates, the second what only the
// first dominates, and so on (Deb, Pratap, Agarwal, Meyarivan, "A Fast and Elitist Multiobjective
// Genetic Algorithm: NSGA-II", IEEE TEC 2002, section III.A). Each front ascending. Found by
// sequential search in lexicographic order, which needs no lists of who dominates whom (Zhang,
// Tian, Cheng, Jin, "An Efficient Approach to Nondominated Sorting", IEEE TEC 2015, section III).
std::vector<std::vector<std::size_t>> nondominated_fronts(const std::vector<Values>& values);

// How far the neighbours of each member of a front are from each other, over all objectives, each
// by its spread in the front (Deb et al. 2002, section III.B): large where the front is sparse,
// infinite at its two ends in each objective. Objectives in which the front is flat add nothing.
// In the order of `front`.
std::vector<double> crowding_distances(const std::vector<Values>& values,
                                       const std::vector<std::size_t>& front);

}  // namespace runnel::search
