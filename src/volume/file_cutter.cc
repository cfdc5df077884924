#include "volume/file_cutter.h"

#include "base/check.h"

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
    if (!at_end_ && rest.size() < sizes_.most) break;  // It may be the beginning of a longer one.
    const std::string_view chunk = rest.substr(0, first_chunk(rest, sizes_));
    entry.chunks.push_back({hash::sha256(chunk), batch.bytes.size(), chunk.size()});
    batch.bytes += chunk;
    done += chunk.size();
  }
  uncut_.erase(0, done);
  return at_end_ && uncut_.empty();
}

Result<bool> FileCutter::fill(ReadBatch& batch, ReadEntry& entry, const Read& read) {
  while (batch.bytes.size() < SourceTree::kBatchBytes) {
    while (wants_more()) {
      const std::size_t before = uncut_.size();
      at_end_ = TRY(read(uncut_)) == 0;
      hash_.add(std::string_view(uncut_).substr(before));
    }
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
