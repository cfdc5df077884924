#pragma once

#include <cstdint>
#include <string_view>

#include "hash/sha256.h"

namespace runnel::volume {

// The hash of a file whose bytes come in order: SHA-256 of them, or, of more than 1 MiB, of the
// hashes of its pieces. docs/design/volume_format.md.
//
// Threads: none of its own.
class FileHash {
 public:
  static constexpr std::uint64_t kPieceBytes = 1 << 20;

  FileHash();
  void add(std::string_view bytes);
  // Of so many zeros; those of whole pieces are not hashed again.
  void add_zeros(std::uint64_t count);
  std::uint64_t size() const { return size_; }
  hash::Digest finish();

 private:
  void end_piece();

  std::uint64_t size_ = 0;
  std::uint64_t in_piece_ = 0;
  hash::Digest last_{};  // Of the piece that ended last.
  hash::Sha256 piece_;
  hash::Sha256 pieces_;
};

}  // namespace runnel::volume
