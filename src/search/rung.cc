#include "search/rung.h"

#include "base/check.h"

namespace runnel::search {

Rung::Rung(std::int32_t eta) : eta_(static_cast<std::size_t>(eta)) {
  CHECK(eta >= 2, "a rung from which everyone goes on");
}

// One more entry moves the border of the best by one place at most, whichever side it falls on.
void Rung::enter(const Standing& standing) {
  const std::size_t best_before = best();
  const bool is_new = entered_.insert(standing).second;
  CHECK(is_new, "a trial entered a rung twice");
  if (best() == 0) return;
  auto last = best_before == 0 ? entered_.begin() : entered_.find(last_best_);
  if (best_before > 0 && standing < last_best_) --last;
  if (best_before > 0 && best() > best_before) ++last;
  last_best_ = *last;
}

bool Rung::among_best(const Standing& standing) const {
  return best() > 0 && !(last_best_.value < standing.value);
}

void Rung::wait(const Standing& standing) {
  CHECK(entered_.contains(standing), "a trial waits at a rung that it did not enter");
  waiting_.insert(standing);
}

void Rung::leave(const Standing& standing) { waiting_.erase(standing); }

std::optional<Standing> Rung::first_waiting() const {
  if (waiting_.empty()) return std::nullopt;
  return *waiting_.begin();
}

std::optional<Standing> Rung::promotable() const {
  if (waiting_.empty() || !among_best(*waiting_.begin())) return std::nullopt;
  return *waiting_.begin();
}

}  // namespace runnel::search
