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
#include "volume/cache_segments.h"

namespace runnel::volume {

// The files of a cache: segments of one size, made when they are first needed, at their full size,
// so that the cache never has more bytes than it may. Read and written past the kernel's memory,
// which keeps what programs read from the mount.
//
// Contract: as CacheSegments; one process has a folder at a time.
class CacheFolder final : public CacheSegments {
 public:
  static constexpr int kFormat = 1;

  // Makes it, for its owner alone, where it is missing. kConflict when another process has it,
  // kUnsupported when another build of another format has made it, kInvalid for a folder with other
  // files in it. Segments beyond `bytes` are removed.
  static Result<std::unique_ptr<CacheFolder>> open(const std::string& folder, Bytes bytes);

  std::uint32_t segments() const override { return static_cast<std::uint32_t>(files_.size()); }
  bool has(std::uint32_t segment) const override { return files_[segment].is_open(); }
  std::vector<CacheSlot> slots_of(std::uint32_t segment) const override;
  Result<void> begin_segment(std::uint32_t segment) override;
  Result<void> write(const CacheSlot& slot, std::string_view bytes) override;
  Result<void> forget(const CacheSlot& slot) override;
  Result<std::shared_ptr<env::AlignedBytes>> read(const CacheSlot& slot, std::uint64_t offset,
                                                  std::uint64_t length) const override;

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
