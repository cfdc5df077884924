#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/search_spec.h"
#include "search/asha.h"
#include "search/pruner.h"

namespace runnel::search {

// Hyperband: a hedge against rungs that judge too early (Li et al., "Hyperband: A Novel
// Bandit-Based Approach to Hyperparameter Optimization", JMLR 2018, algorithm 1), with asynchronous
// brackets.
//
// With K rungs below max_step there are K + 1 brackets, each an ASHA of its own. That with s rungs
// has the last s of them: K judges from min_step on, 0 never. It gets trials in proportion to the
// paper's n_s = ceil((K + 1) / (s + 1) * eta^s), which gives all brackets about the same budget.
// Which bracket a trial is in follows from its number alone: each kRound trials in a row are dealt
// out evenly, in an order that is shuffled anew, since the trials of a grid repeat themselves.
//
// Contract, cost: as Asha's, per bracket; max_step is known. promotable() compares the brackets: by
// the step of the rung, then by value, then by trial.
class Hyperband final : public Pruner {
 public:
  static constexpr std::int64_t kRound = 64;

  Hyperband(const model::PrunerSpec& spec, Asha::Type type);

  std::optional<std::int64_t> next_step(std::int64_t trial, std::int64_t step) const override;
  Verdict reported(std::int64_t trial, std::int64_t step, double value) override;
  void ended(std::int64_t trial) override;
  std::optional<std::int64_t> promotable() const override;
  std::optional<std::int64_t> leader() const override;
  void promoted(std::int64_t trial) override;

  // 0: the one that judges from min_step on.
  std::size_t bracket_of(std::int64_t trial) const;
  std::size_t brackets() const { return brackets_.size(); }

 private:
  // The trial that goes first among those that the brackets answer.
  std::optional<std::int64_t> first_of(std::optional<Asha::Candidate> (Asha::*of)() const) const;
  std::vector<Asha> brackets_;
  std::vector<double> ends_;  // The end of each bracket's share of [0, 1), ascending.
};

}  // namespace runnel::search
