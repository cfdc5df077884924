#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "volume/linked_object.h"
#include "volume/object_id.h"

namespace runnel::volume {

inline constexpr std::uint64_t kChunkBytesMax = 1 << 20;
inline constexpr std::uint64_t kHoleLeast = 64 << 10;   // Fewer zeros in a row are stored as bytes.
inline constexpr std::uint64_t kBlockBytes = 64 << 10;  // What one sum is of, but the last.
inline constexpr std::uint64_t kPackEndMax = std::uint64_t{1} << 40;  // No pack is as long.

enum class Codec : std::uint8_t { kRaw = 0, kZstd = 1, kLinked = 2 };

// A chunk of a file and where its bytes are; or, linked, a whole object of a bucket.
struct Extent {
  ObjectId pack;             // Zero: a hole. Of a linked object linked_id().
  std::uint64_t offset = 0;  // In the pack.
  std::uint64_t stored = 0;  // Bytes there.
  std::uint64_t length = 0;  // Bytes of the file.
  Codec codec = Codec::kRaw;
  std::vector<std::uint64_t> sums;  // XXH3 of each block of the stored bytes; none of an object.
  LinkedPtr linked = nullptr;       // With kLinked.

  bool is_hole() const { return pack.is_zero(); }
  bool is_packed() const { return !is_hole() && !linked; }
  bool is_as_stored() const { return codec != Codec::kZstd; }
  friend bool operator==(const Extent& one, const Extent& other);
};

// Whether they are of a file that is an object of a bucket.
bool is_linked(const std::vector<Extent>& extents);
// The one extent of a file that is the object of so many bytes, which are not 0.
Extent linked_extent(LinkedPtr object, std::uint64_t bytes);
// A part of such an extent, or of a part of it, to be read; no record has one.
Extent part_of_object(const Extent& object, std::uint64_t offset, std::uint64_t length);
// Of zeros, which are at most kChunkBytesMax.
Extent hole_of(std::uint64_t bytes);
// The extents with linked objects cut in pieces that are read like chunks.
std::vector<Extent> in_pieces(std::vector<Extent> extents);

std::vector<std::uint64_t> block_sums(std::string_view stored);

std::string encode_extents(const std::vector<Extent>& extents);
// kCorrupt for what is no list of extents: each has a length, as many sums as blocks, and, stored
// as it is, as many bytes stored as it is long; an object is whole and has its own id.
Result<std::vector<Extent>> decode_extents(std::string_view bytes);

}  // namespace runnel::volume
