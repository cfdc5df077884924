#include "volume/pack.h"

#include <array>
#include <utility>

#include "base/binary.h"
#include "base/check.h"
#include "hash/xxh3.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kPackBegin = "RNLPACK1";
constexpr std::string_view kPackEnd = "RNLPEND1";
constexpr std::size_t kPackEntriesMax = 1 << 24;

Error no_pack(const char* why) { return Error(Errc::kCorrupt, std::string("a pack ") + why); }

bool lies_within(const PackEntry& entry, std::uint64_t end) {
  return entry.offset >= kPackBegin.size() && entry.stored > 0 && entry.stored <= kChunkBytesMax &&
         entry.length > 0 && entry.length <= kChunkBytesMax && entry.offset <= end &&
         entry.stored <= end - entry.offset;
}

}  // namespace

PackBuilder::PackBuilder() : bytes_(kPackBegin) {}

Extent PackBuilder::add(const hash::Digest& hash, std::string_view stored, std::uint64_t length,
                        Codec codec) {
  CHECK(!stored.empty() && stored.size() <= kChunkBytesMax, "a chunk has 1 byte to 1 MiB");
  CHECK(length > 0 && length <= kChunkBytesMax, "a chunk has 1 byte to 1 MiB");
  entries_.push_back({hash, bytes_.size(), stored.size(), length, codec});
  Extent extent{{}, bytes_.size(), stored.size(), length, codec, block_sums(stored)};
  bytes_ += stored;
  return extent;
}

std::string PackBuilder::finish() {
  std::string table;
  Encoder encoder(table);
  encoder.natural(entries_.size());
  for (const PackEntry& entry : entries_) {
    for (const char c : entry.hash) encoder.byte(static_cast<std::uint8_t>(c));
    encoder.natural(entry.offset).natural(entry.stored).natural(entry.length);
    encoder.byte(static_cast<std::uint8_t>(entry.codec));
  }
  const std::uint64_t offset = bytes_.size();
  bytes_ += table;
  append_u64le(bytes_, offset);
  append_u64le(bytes_, table.size());
  append_u64le(bytes_, hash::xxh3(table));
  bytes_ += kPackEnd;
  entries_.clear();
  return std::exchange(bytes_, std::string(kPackBegin));
}

Result<PackTable> parse_pack_trailer(std::string_view trailer, std::uint64_t pack_bytes) {
  if (trailer.size() != kPackTrailerBytes || !trailer.ends_with(kPackEnd))
    return no_pack("has no end");
  FixedReader reader(trailer);
  PackTable table;
  table.offset = reader.u64le();
  table.length = reader.u64le();
  table.xxh3 = reader.u64le();
  const std::uint64_t end = pack_bytes - kPackTrailerBytes;
  if (pack_bytes < kPackTrailerBytes || table.offset > end || table.length != end - table.offset) {
    return no_pack("has its table elsewhere");
  }
  return table;
}

Result<std::vector<PackEntry>> parse_pack_table(std::string_view bytes, const PackTable& table) {
  if (hash::xxh3(bytes) != table.xxh3) return no_pack("has a damaged table");
  Decoder decoder(bytes);
  std::vector<PackEntry> entries(decoder.count(kPackEntriesMax));
  for (PackEntry& entry : entries) {
    for (char& c : entry.hash) c = static_cast<char>(decoder.byte());
    entry.offset = decoder.natural();
    entry.stored = decoder.natural();
    entry.length = decoder.natural();
    const std::uint8_t codec = decoder.byte();
    if (codec > 1 || !lies_within(entry, table.offset)) decoder.fail();
    if (decoder.failed()) return no_pack("has a table that says nothing");
    entry.codec = static_cast<Codec>(codec);
  }
  if (!decoder.complete()) return no_pack("has a table that says nothing");
  return entries;
}

}  // namespace runnel::volume
