#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/search_spec.h"
#include "search/pruner.h"
#include "search/rung.h"

namespace runnel::search {

// The steps at which an ASHA judges: min_step * eta^k for k = 0, 1, ... below max_step, or as far
// as a step can be counted when max_step is 0.
std::vector<std::int64_t> rung_steps(const model::PrunerSpec& spec);

// Asynchronous successive halving: one in eta of those that come to a rung goes on to the next.
//
//   kPromotion  Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020,
//               algorithm 2. A trial that comes to a rung of n entries, itself included, goes on
//               when it is among the floor(n / eta) best; otherwise it is paused, and promotable as
//               soon as it is. So the first eta - 1 of each rung are paused. As better ones may
//               come later, somewhat more than one in eta go on; holding these back would leave the
//               best of a study paused for ever at its end (bench/pruning_bench.cc).
//   kStopping   For trials that cannot be paused (Klein et al., "Model-based Asynchronous
//               Hyperparameter and Neural Architecture Search", 2020, section 3): a trial that is
//               not among the floor(n / eta) best when it comes is stopped for good. Of the first
//               eta - 1 those go on that are the best so far.
//
// A trial that equals the last of the best is one of them, in both types: which of two equal trials
// came first says nothing of either, and an accuracy on a small set is often equal.
//
// Contract: as Pruner. A report that passes several rungs enters each with its value and is judged
//           at the highest. At max_step and later nothing is judged: such a trial goes on. A trial
//           that was told to pause or stop may still report while it ends: it hears the same again,
//           and nothing changes. A report of a trial that ended is our bug. What ended trials had
//           reached keeps its place.
// Cost:     O(log n) a call and O(rungs) for promotable(), with n trials; at most 63 rungs.
class Asha final : public Pruner {
 public:
  enum class Type : std::uint8_t { kPromotion, kStopping };
  // The trial that should go on first, and how far it is.
  struct Candidate {
    std::int64_t step = 0;
    Standing standing;
  };

  // `first_rung`: how many of the rungs are left out from below, for the brackets of Hyperband.
  Asha(const model::PrunerSpec& spec, Type type, std::size_t first_rung = 0);

  std::optional<std::int64_t> next_step(std::int64_t trial, std::int64_t step) const override;
  Verdict reported(std::int64_t trial, std::int64_t step, double value) override;
  void ended(std::int64_t trial) override;
  std::optional<std::int64_t> promotable() const override;
  std::optional<std::int64_t> leader() const override;
  void promoted(std::int64_t trial) override;

  std::optional<Candidate> candidate() const;
  // Among all that are paused, promotable or not.
  std::optional<Candidate> furthest() const;

 private:
  struct Progress {
    std::size_t passed = 0;  // Rungs, from the lowest on.
    double value = 0;        // In the last of them.
    Verdict verdict = Verdict::kGoOn;
    bool ended = false;
  };

  Verdict judged(Rung& rung, const Standing& standing) const;
  // How many rungs are at this step or below.
  std::size_t rungs_to(std::int64_t step) const;

  Type type_;
  std::int64_t max_step_;
  std::vector<std::int64_t> steps_;  // Ascending, one for each rung.
  std::vector<Rung> rungs_;
  std::unordered_map<std::int64_t, Progress> trials_;
};

}  // namespace runnel::search
