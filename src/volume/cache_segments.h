#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "env/aligned_bytes.h"
#include "volume/cache_files.h"
#include "volume/cache_map.h"

namespace runnel::volume {

// The segments of a cache in its files: the bytes of slots, and at the end the table that says
// which they are.
//
// Contract: what is in them may be lost at any moment, and is then fetched again. A slot is entered
//           into its segment's table after its bytes.
// Threads:  any; read() by several at once, the others by one at a time. All block.
class CacheSegments {
 public:
  explicit CacheSegments(std::unique_ptr<CacheFiles> files) : files_(std::move(files)) {}

  std::uint32_t segments() const { return files_->segments(); }
  bool has(std::uint32_t segment) const { return files_->has(segment); }
  // What the segment's table says that is in it; nothing of one that is not there.
  std::vector<CacheSlot> slots_of(std::uint32_t segment) const;

  // The segment at its full size, with an empty table. kFull without room on the disk.
  Result<void> begin_segment(std::uint32_t segment);
  // `bytes` begin and end at multiples of AlignedBytes::kAlign.
  Result<void> write(const CacheSlot& slot, std::string_view bytes);
  // The slot is not found by who opens the cache next.
  Result<void> forget(const CacheSlot& slot);
  // Bytes of a slot from `offset` on.
  Result<std::shared_ptr<env::AlignedBytes>> read(const CacheSlot& slot, std::uint64_t offset,
                                                  std::uint64_t length) const;

 private:
  Result<void> enter(const CacheSlot& slot, const std::string& entry);

  std::unique_ptr<CacheFiles> files_;
};

}  // namespace runnel::volume
