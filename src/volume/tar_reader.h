#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "volume/source_tree.h"

namespace runnel::volume {

// One entry of a tar, but for its bytes.
struct TarEntry {
  enum class Kind : std::uint8_t { kFile, kFolder, kLink, kHardLink, kOther };

  std::string path;  // As it stands there.
  Kind kind = Kind::kFile;
  std::string target;        // Of a link, or the path that a hard link is the same as.
  std::uint32_t mode = 0;    // Permission bits, 07777.
  std::int64_t changed = 0;  // Seconds since 1970,
  std::uint32_t changed_nanos = 0;
  std::uint64_t size = 0;  // Of a file.
};

// Reads a tar, as it is or compressed by gzip, zstd, bzip2 or xz.
//
// Contract: kCorrupt, with the name of the source, for what is no tar, is damaged, or ends before
//           its end. Names are bytes, as they stand there.
// Threads:  any, one at a time; blocks.
class TarReader {
 public:
  // "-": what comes on stdin. kNotFound.
  static Result<std::unique_ptr<TarReader>> open(const std::string& path);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  const std::string& name() const;  // As messages call it.
  // The next entry; none at the end. What was not read of the one before is passed over.
  Result<std::optional<TarEntry>> next();
  // Appends up to `most` bytes of the entry's file, or passes over a hole of it; neither at its
  // end.
  Result<ReadPiece> read(std::string& bytes, std::size_t most);

 private:
  struct Impl;
  explicit TarReader(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::volume
