#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "volume/object_id.h"

namespace runnel::volume {

inline constexpr std::uint64_t kChunkBytesMax = 1 << 20;
inline constexpr std::uint64_t kBlockBytes = 64 << 10;  // What one sum is of, but the last.

enum class Codec : std::uint8_t { kRaw = 0, kZstd = 1 };

// A chunk of a file and where its bytes are.
struct Extent {
  ObjectId pack;             // Zero: a hole.
  std::uint64_t offset = 0;  // In the pack.
  std::uint64_t stored = 0;  // Bytes there.
  std::uint64_t length = 0;  // Bytes of the file.
  Codec codec = Codec::kRaw;
  std::vector<std::uint64_t> sums;  // XXH3 of each block of the stored bytes.

  bool is_hole() const { return pack.is_zero(); }
  friend bool operator==(const Extent&, const Extent&) = default;
};

std::vector<std::uint64_t> block_sums(std::string_view stored);

std::string encode_extents(const std::vector<Extent>& extents);
// kCorrupt for what is no list of extents: each has a length, as many sums as blocks, and, stored
// as it is, as many bytes stored as it is long.
Result<std::vector<Extent>> decode_extents(std::string_view bytes);

}  // namespace runnel::volume
