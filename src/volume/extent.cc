#include "volume/extent.h"

#include <algorithm>
#include <utility>

#include "base/binary.h"
#include "hash/xxh3.h"
#include "object/stamp.h"
#include "volume/extent_codec.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kExtentsMax = 1 << 16;

std::uint64_t blocks_of(std::uint64_t stored) { return (stored + kBlockBytes - 1) / kBlockBytes; }

bool is_sound_object(const Extent& extent) {
  return object::is_stamp(extent.linked->stamp) && extent.length > 0 &&
         extent.length <= LinkedObject::kBytesMax && extent.offset == 0 &&
         extent.stored == extent.length && extent.pack == linked_id(*extent.linked);
}

bool is_sound(const Extent& extent) {
  if (extent.linked) return is_sound_object(extent);
  if (extent.length == 0 || extent.length > kChunkBytesMax) return false;
  if (extent.is_hole()) return extent.stored == 0 && extent.sums.empty();
  if (extent.offset > kPackEndMax) return false;
  if (extent.stored == 0 || extent.stored > kChunkBytesMax) return false;
  return extent.codec == Codec::kZstd || extent.stored == extent.length;
}

void append_sums(Encoder& encoder, const std::vector<std::uint64_t>& sums) {
  for (const std::uint64_t sum : sums) {
    for (int shift = 0; shift < 64; shift += 8) {
      encoder.byte(static_cast<std::uint8_t>(sum >> shift & 0xFF));
    }
  }
}

void take_sums(Decoder& decoder, Extent& extent) {
  if (extent.stored > kChunkBytesMax) return decoder.fail();
  extent.sums.resize(blocks_of(extent.stored));
  for (std::uint64_t& sum : extent.sums) {
    for (int shift = 0; shift < 64; shift += 8) sum |= std::uint64_t{decoder.byte()} << shift;
  }
}

void take_object(Decoder& decoder, Extent& extent) {
  LinkedObject object;
  object.store = decoder.text();
  object.key = decoder.text();
  object.stamp = decoder.text();
  extent.linked = std::make_shared<const LinkedObject>(std::move(object));
}

}  // namespace

bool operator==(const Extent& one, const Extent& other) {
  const bool same_object =
      one.linked && other.linked ? *one.linked == *other.linked : one.linked == other.linked;
  return same_object && one.pack == other.pack && one.offset == other.offset &&
         one.stored == other.stored && one.length == other.length && one.codec == other.codec &&
         one.sums == other.sums;
}

bool is_linked(const std::vector<Extent>& extents) {
  return !extents.empty() && extents.front().linked;
}

Extent hole_of(std::uint64_t bytes) {
  CHECK(bytes >= 1 && bytes <= kChunkBytesMax, "a hole of no length that an extent may have");
  Extent hole;
  hole.length = bytes;
  return hole;
}

Extent linked_extent(LinkedPtr object, std::uint64_t bytes) {
  Extent extent;
  extent.pack = linked_id(*object);
  extent.stored = bytes;
  extent.length = bytes;
  extent.codec = Codec::kLinked;
  extent.linked = std::move(object);
  return extent;
}

Extent part_of_object(const Extent& object, std::uint64_t offset, std::uint64_t length) {
  Extent part = object;
  part.offset += offset;
  part.stored = length;
  part.length = length;
  return part;
}

std::vector<Extent> in_pieces(std::vector<Extent> extents) {
  const auto is_long = [](const Extent& each) {
    return each.linked && each.length > kChunkBytesMax;
  };
  if (std::none_of(extents.begin(), extents.end(), is_long)) return extents;
  std::vector<Extent> pieces;
  for (Extent& extent : extents) {
    if (!is_long(extent)) {
      pieces.push_back(std::move(extent));
      continue;
    }
    for (std::uint64_t begin = 0; begin < extent.length; begin += kChunkBytesMax) {
      pieces.push_back(
          part_of_object(extent, begin, std::min(extent.length - begin, kChunkBytesMax)));
    }
  }
  return pieces;
}

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
  if (extent.linked) {
    encoder.text(extent.linked->store).text(extent.linked->key).text(extent.linked->stamp);
  }
  append_sums(encoder, extent.sums);
}

Extent decode_extent(Decoder& decoder) {
  Extent extent;
  for (char& c : extent.pack.bytes) c = static_cast<char>(decoder.byte());
  extent.offset = decoder.natural();
  extent.stored = decoder.natural();
  extent.length = decoder.natural();
  const std::uint8_t codec = decoder.byte();
  if (codec > static_cast<std::uint8_t>(Codec::kLinked)) {
    decoder.fail();
    return extent;
  }
  extent.codec = static_cast<Codec>(codec);
  if (extent.codec == Codec::kLinked) {
    take_object(decoder, extent);
  } else {
    take_sums(decoder, extent);
  }
  if (!decoder.failed() && !is_sound(extent)) decoder.fail();
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
