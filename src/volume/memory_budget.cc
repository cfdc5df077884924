#include "volume/memory_budget.h"

#include <iterator>

namespace runnel::volume {

MemoryBudget::Handle MemoryBudget::keep(Owner& owner, const void* what, std::size_t size) {
  size_ += size;
  kept_.push_front({&owner, what, size, looks_});
  const Handle kept = kept_.begin();
  while (size_ > size_max_ && kept_.size() > 1) drop_last();
  return kept;
}

void MemoryBudget::use(Handle kept) {
  kept->used = looks_;
  kept_.splice(kept_.begin(), kept_, kept);
}

void MemoryBudget::drop(Handle kept) {
  size_ -= kept->size;
  kept_.erase(kept);
}

void MemoryBudget::drop_unused(int looks) {
  while (!kept_.empty() && kept_.back().used + looks <= looks_) drop_last();
  ++looks_;
}

void MemoryBudget::drop_last() {
  const Handle last = std::prev(kept_.end());
  Owner& owner = *last->owner;
  const void* const what = last->what;
  drop(last);
  owner.forget(what);
}

}  // namespace runnel::volume
