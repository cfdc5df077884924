#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/async.h"
#include "async/worker.h"
#include "volume/chunk_packs.h"
#include "volume/extent_reader.h"
#include "volume/file_hash.h"
#include "volume/snapshot.h"
#include "writing/content.h"
#include "writing/file_parts.h"
#include "writing/version_edit.h"

namespace runnel::writing {

// Stores files of a barrier for the version of it.
//
// Contract: store() gives the content of one file as it was committed; packs have the names of
//           `packs` until this is finished. Of the base's extents what can stay is stored once. One
//           call at a time.
// Threads:  the loop's; bytes are hashed and cut on `worker`.
// Lifetime: what it is given outlives it.
// Cost:     a file is read once, whole: its hash needs all of its bytes.
// Limits:   kReadAtOnce of a file are in memory, and what is being packed.
class ContentStore {
 public:
  static constexpr std::uint64_t kReadAtOnce = 8 << 20;

  static constexpr std::uint64_t kShortMax = 256 << 10;  // Bytes of a short file.
  static constexpr std::uint64_t kShortsMax = 4 << 20;   // Of those that are stored together.

  // Bytes that were written to the branch, of each range.
  using ReadData = std::function<Async<std::vector<std::string>>(std::vector<DataRange> ranges)>;

  ContentStore(volume::Snapshot& base, volume::ExtentReader& reader, volume::ChunkPacks& packs,
               async::Worker& worker, ReadData read)
      : base_(base), reader_(reader), packs_(packs), worker_(worker), read_(std::move(read)) {}

  Async<StoredContent> store(Inode inode, const Content& content);
  // Of a file that has only what was written to the branch, and not much: where all of it is.
  static std::optional<std::vector<DataRange>> ranges_of_short(const Content& content);
  // Short ones by their ranges, of kShortsMax together: a change of threads for all of them takes
  // no longer than for one.
  Async<std::vector<StoredContent>> store_shorts(std::vector<std::vector<DataRange>> files);

 private:
  // A file that is stored.
  struct File {
    std::vector<Range> ranges;
    std::vector<volume::Extent> base;   // The base's extents,
    std::vector<std::uint64_t> begins;  // and where they begin.
    volume::FileHash hash;
    std::vector<volume::Extent> extents;
  };

  Async<File> open(Inode inode, const Content& content);
  // The parts from `first` on that are kept, as many as are read at once; returns the next one.
  Async<std::size_t> keep(File& file, const std::vector<FilePart>& parts, std::size_t first);
  Async<void> store_anew(File& file, const FilePart& part);
  Async<std::string> bytes_of(const File& file, std::uint64_t from, std::uint64_t until);
  Async<std::string> base_bytes(const File& file, std::uint64_t from, std::uint64_t until);
  Async<std::vector<std::string>> read_all(std::vector<volume::Extent> extents);

  volume::Snapshot& base_;
  volume::ExtentReader& reader_;
  volume::ChunkPacks& packs_;
  async::Worker& worker_;
  const ReadData read_;
};

}  // namespace runnel::writing
