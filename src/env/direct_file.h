#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "env/detail/descriptor.h"

namespace runnel::env {

// A file that is read and written past the kernel's memory, where the file system can: what passes
// through it is kept by somebody else already.
//
// Contract: offsets and lengths are multiples of AlignedBytes::kAlign, and bytes begin at one.
//           Nothing is synced.
// Threads:  any, at once, of parts that do not overlap. All block.
class DirectFile {
 public:
  DirectFile() = default;
  static Result<DirectFile> open(const std::string& path);
  // Made where it is missing, for its owner alone.
  static Result<DirectFile> create(const std::string& path);

  bool is_open() const { return file_.is_open(); }
  // Makes it this long, with room on the disk for all of it. kFull without.
  Result<void> reserve(std::uint64_t size);
  // Fills `into` as far as the file goes; kCorrupt when that is before `least` bytes.
  Result<void> read(std::uint64_t offset, std::span<char> into, std::uint64_t least) const;
  Result<void> write(std::uint64_t offset, std::string_view bytes);

 private:
  DirectFile(detail::Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  static Result<DirectFile> open_with(const std::string& path, int flags);

  detail::Descriptor file_;
  std::string path_;
};

}  // namespace runnel::env
