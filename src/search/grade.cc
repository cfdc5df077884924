#include "search/grade.h"

#include <limits>

#include "base/check.h"

namespace runnel::search {

Grade grade_of(const Outcome& outcome) {
  static_assert(Outcome::Kind::kComplete < Outcome::Kind::kPruned);
  static_assert(Outcome::Kind::kPruned < Outcome::Kind::kFailed);
  Grade grade{.kind = outcome.kind};
  if (outcome.kind == Outcome::Kind::kFailed) return grade;
  CHECK(outcome.kind == Outcome::Kind::kPruned || !outcome.values.empty(),
        "a complete trial without a value");
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  grade.value = outcome.values.empty() ? kWorst : outcome.values.front();
  if (outcome.kind == Outcome::Kind::kPruned) grade.steps_short = -outcome.step;
  return grade;
}

}  // namespace runnel::search
