#include "volume/fetch_budget.h"

#include <algorithm>

namespace runnel::volume {

bool FetchBudget::take(Fetcher& fetcher, std::uint64_t bytes) {
  const bool is_next = waiting_.empty() || waiting_.front() == &fetcher;
  if (is_next && (taken_ == 0 || taken_ + bytes <= bytes_max_)) {
    leave(fetcher);
    taken_ += bytes;
    return true;
  }
  const bool waits = std::find(waiting_.begin(), waiting_.end(), &fetcher) != waiting_.end();
  if (!waits) waiting_.push_back(&fetcher);
  return false;
}

void FetchBudget::give_back(std::uint64_t bytes) {
  taken_ -= bytes;
  while (!waiting_.empty()) {
    Fetcher* const next = waiting_.front();
    next->fetch_more();
    const bool needs_more = !waiting_.empty() && waiting_.front() == next;
    if (needs_more) return;
  }
}

void FetchBudget::leave(Fetcher& fetcher) { waiting_.remove(&fetcher); }

}  // namespace runnel::volume
