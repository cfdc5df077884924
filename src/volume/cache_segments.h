#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/aligned_bytes.h"
#include "volume/cache_map.h"

namespace runnel::volume {

// The segments of a cache on a disk.
//
// Contract: what is in them may be lost at any moment, and is then fetched again. A slot is entered
//           into its segment's table after its bytes.
// Threads:  any; read() by several at once, the others by one at a time. All block.
class CacheSegments {
 public:
  virtual ~CacheSegments() = default;

  virtual std::uint32_t segments() const = 0;
  virtual bool has(std::uint32_t segment) const = 0;
  // What the segment's table says that is in it; nothing of one that is not there.
  virtual std::vector<CacheSlot> slots_of(std::uint32_t segment) const = 0;

  // The segment at its full size, with an empty table. kFull without room on the disk.
  virtual Result<void> begin_segment(std::uint32_t segment) = 0;
  // `bytes` begin and end at multiples of AlignedBytes::kAlign.
  virtual Result<void> write(const CacheSlot& slot, std::string_view bytes) = 0;
  // The slot is not found by who opens the cache next.
  virtual Result<void> forget(const CacheSlot& slot) = 0;
  // Bytes of a slot from `offset` on.
  virtual Result<std::shared_ptr<env::AlignedBytes>> read(const CacheSlot& slot,
                                                          std::uint64_t offset,
                                                          std::uint64_t length) const = 0;
};

}  // namespace runnel::volume
