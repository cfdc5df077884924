#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "library/path_walk.h"
#include "volume/file_reader.h"
#include "volume/pack_cache.h"
#include "volume/snapshot.h"

namespace runnel::library {

// Answers what is asked about the files of one version, by path or by inode.
//
// Contract: kNotFound is never an answer: what a path lacks is a Refusal, and what the store lacks
//           is kCorrupt.
// Threads:  the loop's only; answers may be used anywhere.
// Lifetime: snapshot and cache outlive it.
class VersionReader {
 public:
  static constexpr std::size_t kEntriesMax = 10'000;   // Of one part of a list.
  static constexpr std::uint64_t kReadMax = 16 << 20;  // Bytes at once: they are held meanwhile.

  enum class Details : std::uint8_t { kInodeAndKind, kAll };
  struct Entry {
    std::string name;
    volume::Name what;
    std::optional<volume::Node> node;  // Where all was asked for, and its record is whole.
  };
  struct FolderPart {
    std::optional<Refusal> refusal;
    std::vector<Entry> entries;
  };
  using Pieces = std::vector<volume::HeldBytes>;
  struct SmallFile {
    PathEnd end;
    Pieces pieces;  // None of a longer file.
  };

  VersionReader(volume::Snapshot& snapshot, volume::PackCache& cache)
      : snapshot_(snapshot), files_(snapshot, cache) {}

  Async<PathEnd> find(std::string path, LastLink last);
  // Entries whose names come after `after`, at most `max` and kEntriesMax.
  Async<FolderPart> list(std::string path, std::string after, std::size_t max, Details details);
  // As many bytes as there are, at most `length` and kReadMax.
  Async<Pieces> read(volume::Inode file, std::uint64_t offset, std::uint64_t length);
  // A file, with its bytes where these are at most `length_max` and kReadMax.
  Async<SmallFile> load(std::string path, std::uint64_t length_max);

 private:
  Async<FolderPart> entries_of(volume::Inode folder, std::string after, std::size_t max,
                               Details details);

  volume::Snapshot& snapshot_;
  volume::FileReader files_;
};

}  // namespace runnel::library
