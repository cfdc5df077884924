#include "volume/unused_memory.h"

#include <malloc.h>

namespace runnel::volume {

void UnusedMemory::wait() {
  next_.start(kLookEvery, [this] { look(); });
}

// Pages of indices stay: they are few, and who needs one waits for a request to the store. The
// allocator keeps what is freed below something that is still used, until it is told.
void UnusedMemory::look() {
  for (MemoryBudget* const budget :
       {&memory_.bundles, &memory_.packs, &memory_.decoded, &memory_.layouts}) {
    budget->drop_unused(kLooks);
  }
  if (memory_.size() < before_) malloc_trim(0);
  before_ = memory_.size();
  wait();
}

}  // namespace runnel::volume
