#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hash/sha256.h"
#include "volume/node.h"

namespace runnel::volume {

// Where a chunk of a file lies in the bytes that were read with it; or a hole, whose zeros are none
// of them.
struct ReadChunk {
  hash::Digest hash{};
  std::size_t begin = 0;
  std::size_t length = 0;
  bool is_hole = false;
};

// What came of one read: bytes, or zeros behind what was read before. Neither at the end.
struct ReadPiece {
  std::size_t bytes = 0;
  std::uint64_t zeros = 0;
};

// A file, folder or link of a source, or the next part of a long file.
struct ReadEntry {
  std::vector<std::string> path;  // Below the source.
  Node node;                      // Without extents; hash and size once `is_whole`.
  std::vector<ReadChunk> chunks;
  // Of a file without chunks: it is what the file or link is that came before under this path.
  std::vector<std::string> same_as;
  // Of a file without chunks: it is the object of a bucket, of `node.size` bytes.
  LinkedPtr linked = nullptr;
  bool is_of_one_kind = false;  // What came as another kind under this path is an error.
  bool is_first = true;         // Else it goes on with what came with the batch before.
  bool is_whole = true;         // Else more of it comes with the next batch.
};

// What was read at one time: bounded, so that a put takes no more memory than a few of these.
struct ReadBatch {
  std::vector<ReadEntry> entries;
  std::string bytes;  // Of all their chunks.
  bool is_last = false;
};

// Reads a folder of this machine in the order of its paths, for a put.
//
// Contract: next() gives batches of about kBatchBytes. Times and permission bits are kept, owners
//           are not. What is no file, folder or link is passed over, and named by passed_over(). A
//           file that changes while it is read is read again; kConflict when it always does.
// Threads:  any, one at a time; blocks.
class SourceTree {
 public:
  static constexpr std::size_t kBatchBytes = 32 << 20;
  static constexpr std::size_t kBatchEntries = 16'384;

  // A folder, or one file, which then has `name`, or its own where that is empty, as path.
  // kNotFound.
  static Result<std::unique_ptr<SourceTree>> open(const std::string& path, std::string name = "");
  virtual ~SourceTree() = default;

  virtual Result<ReadBatch> next() = 0;
  virtual const std::vector<std::string>& passed_over() const = 0;
  // Permission bits and times of the folder itself, as it was when it was opened; none of one file.
  virtual std::optional<Node> root() const { return std::nullopt; }
};

}  // namespace runnel::volume
