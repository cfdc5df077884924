#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace runnel::volume {

// The files of a cache on a disk, one for each segment.
//
// Contract: places, and the lengths of what is read and written, are multiples of
//           AlignedBytes::kAlign, and memory begins at one. A write that is cut short by the end of
//           its process has some of its pages changed and not others.
// Threads:  any; read() by several at once, the others by one at a time. All block.
class CacheFiles {
 public:
  virtual ~CacheFiles() = default;

  virtual std::uint32_t segments() const = 0;
  virtual bool has(std::uint32_t segment) const = 0;
  // The file at its full size, with whatever is in it. kFull without room on the disk.
  virtual Result<void> make(std::uint32_t segment) = 0;
  virtual Result<void> write(std::uint32_t segment, std::uint64_t place,
                             std::string_view bytes) = 0;
  // Fills `into`; kCorrupt when the file ends before `least` bytes.
  virtual Result<void> read(std::uint32_t segment, std::uint64_t place, std::span<char> into,
                            std::uint64_t least) const = 0;
};

}  // namespace runnel::volume
