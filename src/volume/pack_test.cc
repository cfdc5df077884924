#include "volume/pack.h"

#include <gtest/gtest.h>

#include "volume/compression.h"
#include "volume/node.h"

namespace runnel::volume {
namespace {

Extent extent_of(std::uint64_t length, std::uint64_t offset = 8) {
  const std::string bytes(length, 'x');
  return {ObjectId::of("pack", "12345678"), offset, length, length, Codec::kRaw, block_sums(bytes)};
}

TEST(Pack, TellsItsChunksByItself) {
  PackBuilder builder;
  const std::string text(100'000, 'a');
  const std::string frame = compressed(text).value();
  const Extent raw = builder.add(hash::sha256("raw"), "raw", 3, Codec::kRaw);
  const Extent packed = builder.add(hash::sha256(text), frame, text.size(), Codec::kZstd);
  EXPECT_EQ(raw.offset, 8U);
  EXPECT_EQ(packed.offset, 11U);
  const std::string pack = builder.finish();
  EXPECT_EQ(pack.substr(packed.offset, packed.stored), frame);
  const std::string_view view = pack;
  const PackTable table =
      MUST(parse_pack_trailer(view.substr(view.size() - kPackTrailerBytes), view.size()));
  const auto entries = MUST(parse_pack_table(view.substr(table.offset, table.length), table));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0], (PackEntry{hash::sha256("raw"), 8, 3, 3, Codec::kRaw}));
  EXPECT_EQ(entries[1], (PackEntry{hash::sha256(text), 11, frame.size(), 100'000, Codec::kZstd}));
  EXPECT_EQ(builder.count(), 0U);
}

TEST(Pack, HasNoMoreBesideItsChunksThanIsSaid) {
  const std::string chunk(kChunkBytesMax, 'x');
  for (const std::uint64_t count : {1U, 5U, 33U}) {
    PackBuilder builder;
    for (std::uint64_t number = 0; number < count; ++number) {
      builder.add(hash::sha256(chunk), chunk, chunk.size(), Codec::kRaw);
    }
    EXPECT_LE(builder.finish().size(),
              kPackFrameBytesMax + count * (kPackEntryBytesMax + chunk.size()));
  }
}

TEST(Pack, RefusesWhatIsNone) {
  PackBuilder builder;
  builder.add(hash::sha256("raw"), "raw", 3, Codec::kRaw);
  const std::string pack = builder.finish();
  const std::string_view view = pack;
  const std::string_view trailer = view.substr(view.size() - kPackTrailerBytes);
  EXPECT_FALSE(parse_pack_trailer(trailer.substr(1), view.size()).ok());
  EXPECT_FALSE(parse_pack_trailer(trailer, view.size() - 1).ok()) << "it was cut before its end";
  std::string other(trailer);
  other[31] = '2';
  EXPECT_FALSE(parse_pack_trailer(other, view.size()).ok());
  const PackTable table = MUST(parse_pack_trailer(trailer, view.size()));
  std::string bytes(view.substr(table.offset, table.length));
  bytes[5] = static_cast<char>(bytes[5] ^ 1);
  EXPECT_EQ(parse_pack_table(bytes, table).error().code, Errc::kCorrupt);
}

TEST(Compression, IsKeptOnlyWhereItSavesATenth) {
  EXPECT_FALSE(compressed("short").has_value());
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 10'000; ++i)
    noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  EXPECT_FALSE(compressed(noise).has_value());
  const std::string frame = compressed(std::string(1'000, 'a')).value();
  std::string back(1'000, '?');
  MUST(decompress(frame, back));
  EXPECT_EQ(back, std::string(1'000, 'a'));
  std::string wrong_size(999, '?');
  EXPECT_EQ(decompress(frame, wrong_size).error().code, Errc::kCorrupt);
  EXPECT_FALSE(decompress(frame.substr(0, frame.size() - 1), back).ok());
}

TEST(Extent, IsReadAsItWasWritten) {
  Extent hole;
  hole.length = kChunkBytesMax;
  const std::vector<Extent> extents = {extent_of(3), extent_of(200'000, 20), hole};
  const std::string bytes = encode_extents(extents);
  EXPECT_EQ(MUST(decode_extents(bytes)), extents);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_extents(bytes.substr(0, size)).ok()) << size;
  }
}

TEST(Extent, HasASumForEachBlock) {
  EXPECT_EQ(extent_of(1).sums.size(), 1U);
  EXPECT_EQ(extent_of(kBlockBytes).sums.size(), 1U);
  EXPECT_EQ(extent_of(kBlockBytes + 1).sums.size(), 2U);
}

TEST(Extent, RefusesWhatCannotBe) {
  for (const auto& change : std::vector<void (*)(Extent&)>{
           [](Extent& e) { e.length = 0; }, [](Extent& e) { e.length = 4; },
           [](Extent& e) { e.stored = 0, e.sums.clear(); }, [](Extent& e) { e.pack = {}; },
           [](Extent& e) { e.offset = std::uint64_t{1} << 63; },
           [](Extent& e) { e = {.length = kChunkBytesMax + 1}; }}) {
    Extent extent = extent_of(3);
    change(extent);
    EXPECT_FALSE(decode_extents(encode_extents({extent})).ok());
  }
}

TEST(Node, IsReadAsItWasWritten) {
  Node file;
  file.mode = 0755;
  file.changed = -5;
  file.changed_nanos = 7;
  file.owner = 0;
  file.group = 1'000;
  file.size = 3;
  file.hash = hash::sha256("raw");
  file.extents = {extent_of(3)};
  Node folder;
  folder.kind = NodeKind::kFolder;
  folder.hash = hash::sha256("folder");
  Node link;
  link.kind = NodeKind::kLink;
  link.target = "../a b";
  link.links = 2;
  for (const Node& node : {file, folder, link}) {
    const std::string bytes = encode_node(node);
    EXPECT_EQ(MUST(decode_node(bytes)), node);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_node(bytes.substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(decode_node(bytes + "x").ok());
  }
  file.size = 4;
  EXPECT_FALSE(decode_node(encode_node(file)).ok()) << "its extents are of 3 bytes";
}

TEST(Name, SortsByFolderAndThenByName) {
  EXPECT_LT(name_key(1, "b"), name_key(2, "a"));
  EXPECT_LT(name_key(255, "z"), name_key(256, "a"));
  EXPECT_LT(inode_key(7), extents_key(7, 0));
  EXPECT_LT(extents_key(7, 1 << 20), inode_key(8));
  EXPECT_EQ(MUST(decode_name(encode_name({300, NodeKind::kLink}))), (Name{300, NodeKind::kLink}));
  EXPECT_FALSE(decode_name("").ok());
  EXPECT_FALSE(decode_name(encode_name({0, NodeKind::kFile})).ok());
}

}  // namespace
}  // namespace runnel::volume
