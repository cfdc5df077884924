#include "volume/node.h"

#include <limits>

#include "base/binary.h"
#include "volume/extent_codec.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kTargetBytesMax = 4'096;
constexpr std::uint32_t kModeMax = 07777;
constexpr std::uint32_t kSetIds = 06000;
constexpr std::uint32_t kNanosMax = 999'999'999;

Error no_node() { return Error(Errc::kCorrupt, "the record of a file is damaged"); }

std::uint64_t one_more(const std::optional<std::uint32_t>& id) {
  return id ? std::uint64_t{*id} + 1 : 0;
}

std::optional<std::uint32_t> one_less(Decoder& decoder) {
  const std::uint64_t id = decoder.natural();
  if (id > std::uint64_t{std::numeric_limits<std::uint32_t>::max()} + 1) decoder.fail();
  if (id == 0 || decoder.failed()) return std::nullopt;
  return static_cast<std::uint32_t>(id - 1);
}

std::uint32_t natural_up_to(Decoder& decoder, std::uint32_t most) {
  const std::uint64_t value = decoder.natural();
  if (value > most) decoder.fail();
  return value > most ? 0 : static_cast<std::uint32_t>(value);
}

bool is_kind(std::uint8_t value) { return value >= 1 && value <= 3; }

void append_digest(std::string& out, const hash::Digest& digest) {
  out.append(digest.data(), digest.size());
}

void take_digest(Decoder& decoder, hash::Digest& digest) {
  for (char& c : digest) c = static_cast<char>(decoder.byte());
}

void decode_file(Decoder& decoder, Node& node) {
  node.size = decoder.natural();
  take_digest(decoder, node.hash);
  node.extents.resize(decoder.count(Node::kInlineExtentsMax));
  std::uint64_t length = 0;
  for (Extent& extent : node.extents) {
    if (decoder.failed()) return;
    extent = decode_extent(decoder);
    length += extent.length;
  }
  if (!node.extents.empty() && length != node.size) decoder.fail();
}

}  // namespace

std::uint32_t given_mode(const Node& node) {
  return node.kind == NodeKind::kFile ? node.mode & ~kSetIds : node.mode;
}

std::string encode_node(const Node& node) {
  std::string out;
  Encoder encoder(out);
  encoder.byte(static_cast<std::uint8_t>(node.kind)).natural(node.mode).natural(node.links);
  encoder.integer(node.changed).natural(node.changed_nanos);
  encoder.natural(one_more(node.owner)).natural(one_more(node.group));
  switch (node.kind) {
    case NodeKind::kFile:
      encoder.natural(node.size);
      append_digest(out, node.hash);
      encoder.natural(node.extents.size());
      for (const Extent& extent : node.extents) encode_extent(out, extent);
      break;
    case NodeKind::kFolder: append_digest(out, node.hash); break;
    case NodeKind::kLink: encoder.text(node.target); break;
  }
  return out;
}

Result<Node> decode_node(std::string_view bytes) {
  Decoder decoder(bytes);
  Node node;
  const std::uint8_t kind = decoder.byte();
  if (!is_kind(kind)) return no_node();
  node.kind = static_cast<NodeKind>(kind);
  node.mode = natural_up_to(decoder, kModeMax);
  node.links = decoder.natural();
  node.changed = decoder.integer();
  node.changed_nanos = natural_up_to(decoder, kNanosMax);
  node.owner = one_less(decoder);
  node.group = one_less(decoder);
  switch (node.kind) {
    case NodeKind::kFile: decode_file(decoder, node); break;
    case NodeKind::kFolder: take_digest(decoder, node.hash); break;
    case NodeKind::kLink: node.target = decoder.text(kTargetBytesMax); break;
  }
  if (!decoder.complete() || node.links == 0) return no_node();
  return node;
}

Result<std::vector<Extent>> extents_of(std::string_view key, std::string_view value) {
  if (key.size() > sizeof(Inode)) return decode_extents(value);
  Node node = TRY(decode_node(value));
  return std::move(node.extents);
}

std::string name_key(Inode folder, std::string_view name) {
  std::string key;
  append_u64be(key, folder);
  return key.append(name);
}

std::string inode_key(Inode inode) {
  std::string key;
  append_u64be(key, inode);
  return key;
}

Result<Inode> inode_of(std::string_view key) {
  FixedReader reader(key);
  const Inode inode = reader.u64be();
  if (reader.failed()) return Error(Errc::kCorrupt, "a key of the tree of inodes is cut short");
  return inode;
}

std::string extents_key(Inode inode, std::uint64_t offset) {
  std::string key = inode_key(inode);
  append_u64be(key, offset);
  return key;
}

std::string encode_name(const Name& name) {
  std::string out;
  Encoder(out).byte(static_cast<std::uint8_t>(name.kind)).natural(name.inode);
  return out;
}

Result<Name> decode_name(std::string_view bytes) {
  Decoder decoder(bytes);
  const std::uint8_t kind = decoder.byte();
  Name name;
  name.inode = decoder.natural();
  if (!decoder.complete() || !is_kind(kind) || name.inode == 0) return no_node();
  name.kind = static_cast<NodeKind>(kind);
  return name;
}

}  // namespace runnel::volume
