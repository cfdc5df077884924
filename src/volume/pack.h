#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hash/sha256.h"
#include "volume/extent.h"

namespace runnel::volume {

// What the table of a pack says of one chunk.
struct PackEntry {
  hash::Digest hash{};
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;
  std::uint64_t length = 0;
  Codec codec = Codec::kRaw;
  friend bool operator==(const PackEntry&, const PackEntry&) = default;
};

inline constexpr std::uint64_t kPackTrailerBytes = 32;
// At most so many bytes of a pack are no chunk's, and so many more for each chunk.
inline constexpr std::uint64_t kPackFrameBytesMax = 48;
inline constexpr std::uint64_t kPackEntryBytesMax = 48;
inline constexpr std::uint64_t kPackBytesTarget = 32 << 20;  // A pack with as many is closed.

// Makes a pack of chunks. docs/design/volume_format.md.
//
// Threads: none of its own.
class PackBuilder {
 public:
  PackBuilder();

  // Where the chunk, stored as `codec` says, will be; the pack has no id yet.
  Extent add(const hash::Digest& hash, std::string_view stored, std::uint64_t length, Codec codec);
  std::uint64_t bytes() const { return bytes_.size(); }
  std::size_t count() const { return entries_.size(); }
  // The whole object; the builder is empty again.
  std::string finish();

 private:
  std::string bytes_;
  std::vector<PackEntry> entries_;
};

// Where the table of a pack is, by its last kPackTrailerBytes. kCorrupt for what is no trailer.
struct PackTable {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t xxh3 = 0;
};
Result<PackTable> parse_pack_trailer(std::string_view trailer, std::uint64_t pack_bytes);
// The entries of a table. kCorrupt when it is damaged, or chunks lie outside [8, table.offset).
Result<std::vector<PackEntry>> parse_pack_table(std::string_view bytes, const PackTable& table);

}  // namespace runnel::volume
