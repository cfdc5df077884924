#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "volume/chunker.h"
#include "volume/file_hash.h"
#include "volume/source_tree.h"

namespace runnel::volume {

// Cuts a long file whose bytes come in order into chunks of batches, and hashes it.
//
// Threads: none of its own.
// Limits:  keeps what is not cut yet: less than a chunk, and what was added last. A file's holes
//          are kHolesMax together: each MiB of them is a record of the index.
class FileCutter {
 public:
  static constexpr std::uint64_t kHolesMax = std::uint64_t{1} << 40;

  FileCutter() = default;
  // What was hashed of the file before is cut already.
  explicit FileCutter(FileHash before) : hash_(std::move(before)) {}

  void add(std::string_view bytes);
  void end() { at_end_ = true; }  // All of it was added.
  bool wants_more() const { return !at_end_ && hole_ == 0 && uncut_.size() < sizes_.most; }
  // Moves the chunks that are sure into the batch, up to SourceTree::kBatchBytes; true once the
  // last one is in it.
  bool cut(ReadBatch& batch, ReadEntry& entry);
  // Adds and cuts what `read` appends or passes over, until the batch is full or the last chunk is
  // in it: true. kInvalid for a file with too many holes.
  using Read = std::function<Result<ReadPiece>(std::string&)>;
  Result<bool> fill(ReadBatch& batch, ReadEntry& entry, const Read& read);
  // Size and hash of the whole file, once it is cut.
  void finish(Node& node);
  // Of all so far, for who cuts only a part of the file.
  FileHash take_hash() { return std::exchange(hash_, FileHash()); }

 private:
  Result<void> take(const Read& read);
  void cut_hole(ReadEntry& entry);

  ChunkSizes sizes_;
  FileHash hash_;
  std::string uncut_;
  std::uint64_t hole_ = 0;   // Zeros behind it.
  std::uint64_t holes_ = 0;  // All so far.
  bool at_end_ = false;
};

}  // namespace runnel::volume
