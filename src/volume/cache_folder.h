#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "env/aligned_bytes.h"
#include "env/direct_file.h"
#include "env/file_lock.h"
#include "volume/cache_map.h"

namespace runnel::volume {

// The files of a cache: segments of one size, made when they are first needed, at their full size,
// so that the cache never has more bytes than it may. Read and written past the kernel's memory,
// which keeps what programs read from the mount.
//
// Contract: one process has a folder at a time. What is in it may be lost at any moment, and is
//           then fetched again. A slot is entered into its segment's table after its bytes.
// Threads:  any; read() by several at once, the others by one at a time. All block.
class CacheFolder {
 public:
  static constexpr int kFormat = 1;

  // Makes it, for its owner alone, where it is missing. kConflict when another process has it,
  // kUnsupported when another build of another format has made it, kInvalid for a folder with other
  // files in it. Segments beyond `bytes` are removed.
  static Result<std::unique_ptr<CacheFolder>> open(const std::string& folder, Bytes bytes);

  std::uint32_t segments() const { return static_cast<std::uint32_t>(files_.size()); }
  bool has(std::uint32_t segment) const { return files_[segment].is_open(); }
  // What the segment's table says that is in it; nothing of one that is not there.
  std::vector<CacheSlot> slots_of(std::uint32_t segment) const;

  // The segment's file at its full size, with an empty table. kFull without room on the disk.
  Result<void> begin_segment(std::uint32_t segment);
  // `bytes` begin and end at multiples of AlignedBytes::kAlign.
  Result<void> write(const CacheSlot& slot, std::string_view bytes);
  // The slot is not found by who opens the folder next.
  Result<void> forget(const CacheSlot& slot);
  // Bytes of a slot from `offset` on.
  Result<std::shared_ptr<env::AlignedBytes>> read(const CacheSlot& slot, std::uint64_t offset,
                                                  std::uint64_t length) const;

 private:
  CacheFolder(std::string folder, env::FileLock lock, std::size_t segments);

  std::string path_of(std::uint32_t segment) const;
  Result<void> enter(const CacheSlot& slot, const std::string& entry);
  Result<void> open_segments();

  const std::string folder_;
  env::FileLock lock_;
  std::vector<env::DirectFile> files_;  // Open are those that are there.
};

}  // namespace runnel::volume
