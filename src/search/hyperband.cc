#include "search/hyperband.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "search/permutation.h"

namespace runnel::search {
namespace {

// The ends of the brackets' shares of [0, 1): that with the most rungs comes first.
std::vector<double> share_ends(std::size_t rungs, double eta) {
  std::vector<double> ends;
  const auto brackets = static_cast<double>(rungs + 1);
  for (std::size_t s = rungs + 1; s-- > 0;) {
    const auto exponent = static_cast<double>(s);
    ends.push_back(std::ceil(brackets / (exponent + 1) * std::pow(eta, exponent)));
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  const double total = ends.back();
  for (double& end : ends) end /= total;
  return ends;
}

bool goes_first(const Asha::Candidate& a, const Asha::Candidate& b) {
  return a.step != b.step ? a.step > b.step : a.standing < b.standing;
}

}  // namespace

Hyperband::Hyperband(const model::PrunerSpec& spec, Asha::Type type) {
  CHECK(spec.max_step > 0, "brackets without an end");
  const std::size_t rungs = rung_steps(spec).size();
  for (std::size_t first = 0; first <= rungs; ++first) brackets_.emplace_back(spec, type, first);
  ends_ = share_ends(rungs, spec.eta);
}

std::size_t Hyperband::bracket_of(std::int64_t trial) const {
  CHECK(trial >= 0, "a negative number of a trial");
  const auto round = static_cast<std::uint64_t>(trial / kRound);
  const auto position = static_cast<std::uint64_t>(trial % kRound);
  const std::uint64_t key = derive(0, round);
  const std::uint64_t slice = permute(position, kRound, key);
  // The same place within each slice of a round, another one in the next: the smallest share gets
  // its trials too.
  const double place = static_cast<double>(key >> 11) * 0x1p-53;
  const double point = (static_cast<double>(slice) + place) / static_cast<double>(kRound);
  const auto bracket = std::upper_bound(ends_.begin(), ends_.end(), point);
  CHECK(bracket != ends_.end(), "the shares of the brackets do not reach 1");
  return static_cast<std::size_t>(bracket - ends_.begin());
}

std::optional<std::int64_t> Hyperband::next_step(std::int64_t trial, std::int64_t step) const {
  return brackets_[bracket_of(trial)].next_step(trial, step);
}

Verdict Hyperband::reported(std::int64_t trial, std::int64_t step, double value) {
  return brackets_[bracket_of(trial)].reported(trial, step, value);
}

void Hyperband::ended(std::int64_t trial) { brackets_[bracket_of(trial)].ended(trial); }

std::optional<std::int64_t> Hyperband::promotable() const { return first_of(&Asha::candidate); }

std::optional<std::int64_t> Hyperband::leader() const { return first_of(&Asha::furthest); }

std::optional<std::int64_t> Hyperband::first_of(std::optional<Asha::Candidate> (Asha::*of)()
                                                    const) const {
  std::optional<Asha::Candidate> first;
  for (const Asha& bracket : brackets_) {
    const auto candidate = (bracket.*of)();
    if (candidate && (!first || goes_first(*candidate, *first))) first = candidate;
  }
  if (!first) return std::nullopt;
  return first->standing.trial;
}

void Hyperband::promoted(std::int64_t trial) { brackets_[bracket_of(trial)].promoted(trial); }

}  // namespace runnel::search
