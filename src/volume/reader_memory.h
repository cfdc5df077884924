#pragma once

#include <cstddef>

#include "volume/memory_budget.h"

namespace runnel::volume {

// The memory in which readers of volumes keep what they have read, for each purpose a budget, which
// all volumes share that are opened with it.
//
// Threads:  one loop's only.
// Lifetime: who reads with it goes first.
// Limits:   the sum of the budgets, what is on its way to each volume, and what is held by who
//           reads at the moment.
struct ReaderMemory {
  static constexpr std::size_t kPages = 32 << 20;
  static constexpr std::size_t kBundles = 16 << 20;
  static constexpr std::size_t kPacks = 128 << 20;
  static constexpr std::size_t kDecoded = 16 << 20;
  static constexpr std::size_t kLayouts = 16 << 20;

  explicit ReaderMemory(std::size_t packs_max = kPacks) : packs(packs_max) {}

  MemoryBudget pages{kPages};      // Of indices,
  MemoryBudget bundles{kBundles};  // and what came with them.
  MemoryBudget packs;              // Ranges of them, as they are stored.
  MemoryBudget decoded{kDecoded};  // Chunks that were compressed.
  MemoryBudget layouts{kLayouts};  // Where the bytes of files are.

  std::size_t size() const {
    return pages.size() + bundles.size() + packs.size() + decoded.size() + layouts.size();
  }
};

}  // namespace runnel::volume
