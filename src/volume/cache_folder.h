#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "env/direct_file.h"
#include "env/file_lock.h"
#include "volume/cache_files.h"

namespace runnel::volume {

// The files of a cache: segments of one size, made when they are first needed, at their full size,
// so that the cache never has more bytes than it may. Read and written past the kernel's memory,
// which keeps what programs read from the mount.
//
// Contract: as CacheFiles; one process has a folder at a time.
class CacheFolder final : public CacheFiles {
 public:
  static constexpr int kFormat = 1;

  // Makes it, for its owner alone, where it is missing. kConflict when another process has it,
  // kUnsupported when another build of another format has made it, kInvalid for a folder with other
  // files in it. Segments beyond `bytes` are removed.
  static Result<std::unique_ptr<CacheFolder>> open(const std::string& folder, Bytes bytes);

  std::uint32_t segments() const override { return static_cast<std::uint32_t>(files_.size()); }
  bool has(std::uint32_t segment) const override { return files_[segment].is_open(); }
  Result<void> make(std::uint32_t segment) override;
  Result<void> write(std::uint32_t segment, std::uint64_t place, std::string_view bytes) override {
    return files_[segment].write(place, bytes);
  }
  Result<void> read(std::uint32_t segment, std::uint64_t place, std::span<char> into,
                    std::uint64_t least) const override {
    return files_[segment].read(place, into, least);
  }

 private:
  CacheFolder(std::string folder, env::FileLock lock, std::size_t segments);

  std::string path_of(std::uint32_t segment) const;
  Result<void> open_segments();

  const std::string folder_;
  env::FileLock lock_;
  std::vector<env::DirectFile> files_;  // Open are those that are there.
};

}  // namespace runnel::volume
