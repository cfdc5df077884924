#include "volume/file_cutter.h"

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "volume/extent.h"

namespace runnel::volume {

void FileCutter::add(std::string_view bytes) {
  CHECK(!at_end_, "bytes behind the end of a file");
  uncut_ += bytes;
  hash_.add(bytes);
}

bool FileCutter::cut(ReadBatch& batch, ReadEntry& entry) {
  std::size_t done = 0;
  while (done < uncut_.size() && batch.bytes.size() < SourceTree::kBatchBytes) {
    const std::string_view rest = std::string_view(uncut_).substr(done);
    const bool ends_here = at_end_ || hole_ > 0;
    if (!ends_here && rest.size() < sizes_.most) break;  // It may be the beginning of a longer one.
    const std::string_view chunk = rest.substr(0, first_chunk(rest, sizes_));
    entry.chunks.push_back({hash::sha256(chunk), batch.bytes.size(), chunk.size()});
    batch.bytes += chunk;
    done += chunk.size();
  }
  uncut_.erase(0, done);
  if (uncut_.empty()) cut_hole(entry);
  return at_end_ && uncut_.empty();
}

void FileCutter::cut_hole(ReadEntry& entry) {
  while (hole_ > 0 && entry.chunks.size() < SourceTree::kBatchEntries) {
    const std::uint64_t some = std::min<std::uint64_t>(hole_, kChunkBytesMax);
    entry.chunks.push_back({.length = some, .is_hole = true});
    hole_ -= some;
  }
}

Result<void> FileCutter::take(const Read& read) {
  const std::size_t before = uncut_.size();
  const ReadPiece piece = TRY(read(uncut_));
  CHECK(uncut_.size() == before + piece.bytes, "another number of bytes was read than was told");
  hash_.add(std::string_view(uncut_).substr(before));
  at_end_ = piece.bytes == 0 && piece.zeros == 0;
  hole_ = piece.zeros;
  if (piece.zeros > kHolesMax - holes_) {
    return Error(Errc::kInvalid, "it has holes of more than " + human(Bytes::count(kHolesMax)));
  }
  holes_ += piece.zeros;
  hash_.add_zeros(piece.zeros);
  return {};
}

Result<bool> FileCutter::fill(ReadBatch& batch, ReadEntry& entry, const Read& read) {
  while (batch.bytes.size() < SourceTree::kBatchBytes &&
         entry.chunks.size() < SourceTree::kBatchEntries) {
    while (wants_more()) TRY(take(read));
    if (cut(batch, entry)) return true;
  }
  return false;
}

void FileCutter::finish(Node& node) {
  CHECK(at_end_, "a file is hashed when all of it was added");
  CHECK(uncut_.empty(), "a file is hashed when all of it is cut");
  node.size = hash_.size();
  node.hash = hash_.finish();
}

}  // namespace runnel::volume
