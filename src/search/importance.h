#pragma once

#include <vector>

#include "search/space.h"

namespace runnel::search {

// How much each parameter decides whether a trial is among the best: shares that add up to 1, or
// all zero when nothing does (all values alike, or no trials).
//
// PED-ANOVA (Watanabe, Bansal, Hutter, "PED-ANOVA: Efficiently Quantifying Hyperparameter
// Importance in Arbitrary Subspaces", IJCAI 2023, algorithm 1): for each axis alone the density of
// the best tenth (at least kTopMin trials) against that of all trials, by the Pearson divergence
// sum (top - all)^2 / all on a grid of kCells cells, or of the values where these are fewer. Of
// numbers the densities are Gaussian kernel estimates by Scott's rule. Both have the width of the
// smaller set, unlike in the paper, so that a parameter without influence does not seem to have
// some where they are only smoothed differently. Trials as good as the last of the best are best.
//
// A parameter with a condition is judged among the trials in which it takes part. `values`: of the
// first objective, one for each point, finite, smaller is better. O(trials * axes), sorting apart.
std::vector<double> importances(const std::vector<Axis>& axes, const std::vector<Point>& points,
                                const std::vector<double>& values);

inline constexpr std::size_t kTopMin = 5;
inline constexpr std::size_t kCells = 50;

}  // namespace runnel::search
