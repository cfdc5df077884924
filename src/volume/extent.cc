#include "volume/extent.h"

#include <utility>

#include "base/binary.h"
#include "hash/xxh3.h"
#include "volume/extent_codec.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kExtentsMax = 1 << 16;

std::uint64_t blocks_of(std::uint64_t stored) { return (stored + kBlockBytes - 1) / kBlockBytes; }

bool is_sound(const Extent& extent) {
  if (extent.length == 0 || extent.length > kChunkBytesMax)
    return extent.is_hole() && extent.length > 0;
  if (extent.is_hole()) return extent.stored == 0 && extent.sums.empty();
  if (extent.stored == 0 || extent.stored > kChunkBytesMax) return false;
  return extent.codec == Codec::kZstd || extent.stored == extent.length;
}

}  // namespace

std::vector<std::uint64_t> block_sums(std::string_view stored) {
  std::vector<std::uint64_t> sums;
  sums.reserve(blocks_of(stored.size()));
  for (std::size_t at = 0; at < stored.size(); at += kBlockBytes) {
    sums.push_back(hash::xxh3(stored.substr(at, kBlockBytes)));
  }
  return sums;
}

void encode_extent(std::string& out, const Extent& extent) {
  Encoder encoder(out);
  for (const char c : extent.pack.bytes) encoder.byte(static_cast<std::uint8_t>(c));
  encoder.natural(extent.offset).natural(extent.stored).natural(extent.length);
  encoder.byte(static_cast<std::uint8_t>(extent.codec));
  for (const std::uint64_t sum : extent.sums) {
    for (int shift = 0; shift < 64; shift += 8) {
      encoder.byte(static_cast<std::uint8_t>(sum >> shift & 0xFF));
    }
  }
}

Extent decode_extent(Decoder& decoder) {
  Extent extent;
  for (char& c : extent.pack.bytes) c = static_cast<char>(decoder.byte());
  extent.offset = decoder.natural();
  extent.stored = decoder.natural();
  extent.length = decoder.natural();
  const std::uint8_t codec = decoder.byte();
  if (codec > static_cast<std::uint8_t>(Codec::kZstd) || extent.stored > kChunkBytesMax) {
    decoder.fail();
    return extent;
  }
  extent.codec = static_cast<Codec>(codec);
  extent.sums.resize(blocks_of(extent.stored));
  for (std::uint64_t& sum : extent.sums) {
    for (int shift = 0; shift < 64; shift += 8) sum |= std::uint64_t{decoder.byte()} << shift;
  }
  if (!is_sound(extent)) decoder.fail();
  return extent;
}

std::string encode_extents(const std::vector<Extent>& extents) {
  std::string out;
  Encoder(out).natural(extents.size());
  for (const Extent& extent : extents) encode_extent(out, extent);
  return out;
}

Result<std::vector<Extent>> decode_extents(std::string_view bytes) {
  Decoder decoder(bytes);
  std::vector<Extent> extents(decoder.count(kExtentsMax));
  for (Extent& extent : extents) {
    if (!decoder.failed()) extent = decode_extent(decoder);
  }
  if (!decoder.complete()) return Error(Errc::kCorrupt, "the extents of a file are damaged");
  return extents;
}

}  // namespace runnel::volume
