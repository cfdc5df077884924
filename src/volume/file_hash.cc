#include "volume/file_hash.h"

#include <algorithm>
#include <string>
#include <utility>

namespace runnel::volume {

FileHash::FileHash() { pieces_.add("runnel pieces 1\n"); }

void FileHash::end_piece() {
  last_ = std::exchange(piece_, hash::Sha256()).finish();
  pieces_.add({last_.data(), last_.size()});
  in_piece_ = 0;
}

void FileHash::add(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t some = std::min<std::uint64_t>(bytes.size(), kPieceBytes - in_piece_);
    piece_.add(bytes.substr(0, some));
    in_piece_ += some;
    bytes.remove_prefix(some);
    if (in_piece_ == kPieceBytes) end_piece();
  }
}

void FileHash::add_zeros(std::uint64_t count) {
  static const std::string kZeros(kPieceBytes, '\0');
  static const hash::Digest kPiece = hash::sha256(kZeros);
  while (count > 0) {
    if (in_piece_ > 0 || count < kPieceBytes) {
      const std::uint64_t some = std::min(count, kPieceBytes - in_piece_);
      add(std::string_view(kZeros).substr(0, some));
      count -= some;
      continue;
    }
    size_ += kPieceBytes;
    count -= kPieceBytes;
    last_ = kPiece;
    pieces_.add({last_.data(), last_.size()});
  }
}

hash::Digest FileHash::finish() {
  const bool is_open = in_piece_ > 0 || size_ == 0;
  if (is_open) end_piece();
  return size_ <= kPieceBytes ? last_ : pieces_.finish();
}

}  // namespace runnel::volume
