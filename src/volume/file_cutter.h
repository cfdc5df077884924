#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "volume/chunker.h"
#include "volume/file_hash.h"
#include "volume/source_tree.h"

namespace runnel::volume {

// Cuts a long file whose bytes come in order into chunks of batches, and hashes it.
//
// Threads: none of its own.
// Limits:  keeps what is not cut yet: less than a chunk, and what was added last.
class FileCutter {
 public:
  void add(std::string_view bytes);
  void end() { at_end_ = true; }  // All of it was added.
  bool wants_more() const { return !at_end_ && uncut_.size() < sizes_.most; }
  // Moves the chunks that are sure into the batch, up to SourceTree::kBatchBytes; true once the
  // last one is in it.
  bool cut(ReadBatch& batch, ReadEntry& entry);
  // Adds and cuts what `read` appends, nothing at the file's end, until the batch is full or the
  // last chunk is in it: true.
  using Read = std::function<Result<std::size_t>(std::string&)>;
  Result<bool> fill(ReadBatch& batch, ReadEntry& entry, const Read& read);
  // Size and hash of the whole file, once it is cut.
  void finish(Node& node);

 private:
  ChunkSizes sizes_;
  FileHash hash_;
  std::string uncut_;
  bool at_end_ = false;
};

}  // namespace runnel::volume
