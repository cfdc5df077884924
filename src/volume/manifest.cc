#include "volume/manifest.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "json/read.h"
#include "model/fields.h"
#include "volume/digits.h"

namespace runnel::volume {

// A root of the index as it is stored.
struct StoredRoot {
  ObjectId bundle;
  std::int64_t height = 0;
  std::int64_t length = 0;
  std::int64_t offset = 0;
  std::string sha256;
  std::int64_t stored = 0;
  std::string xxh3;

  bool empty() const { return sha256.empty(); }
  friend bool operator==(const StoredRoot&, const StoredRoot&) = default;
};

struct StoredManifest {
  StoredRoot chunks;
  std::int64_t format = kFormat;
  StoredRoot inodes;
  std::string message;
  StoredRoot names;
  std::int64_t next_inode = 0;
  std::string origin;
  std::string parent;
  std::string parent_key;
  Time time;
  Totals totals;
  std::string tree;
  std::string uuid;
  std::string version;
};

}  // namespace runnel::volume

namespace runnel::model {

template <>
struct Fields<volume::StoredRoot> {
  static void visit(auto& visit, auto& root) {
    visit("bundle", root.bundle, Required());
    visit("height", root.height, Number{.max = volume::Page::kHeightMax});
    visit("length", root.length, Number{.min = 1});
    visit("offset", root.offset);
    visit("sha256", root.sha256, Required());
    visit("stored", root.stored, Number{.min = 1});
    visit("xxh3", root.xxh3, Required());
  }
};

template <>
struct Fields<volume::Totals> {
  static void visit(auto& visit, auto& totals) {
    visit("bytes", totals.bytes);
    visit("files", totals.files);
    visit("folders", totals.folders);
    visit("links", totals.links);
    visit("packed", totals.packed);
  }
};

template <>
struct Fields<volume::StoredManifest> {
  static void visit(auto& visit, auto& manifest) {
    visit("chunks", manifest.chunks);
    visit("format", manifest.format, Required());
    visit("inodes", manifest.inodes);
    visit("message", manifest.message);
    visit("names", manifest.names);
    visit("next_inode", manifest.next_inode, Number{.min = 2});
    visit("origin", manifest.origin);
    visit("parent", manifest.parent);
    visit("parent_key", manifest.parent_key);
    visit("time", manifest.time);
    visit("totals", manifest.totals);
    visit("tree", manifest.tree, Required());
    visit("uuid", manifest.uuid, Required());
    visit("version", manifest.version, Required());
  }
};

}  // namespace runnel::model

namespace runnel::volume {
namespace {

constexpr std::size_t kVersionDigits = 16;
constexpr std::size_t kMessageBytesMax = 4'096;

StoredRoot stored(const Tree& tree) {
  if (!tree) return {};
  const PageRef& ref = tree->ref;
  return {.bundle = ref.bundle,
          .height = tree->height,
          .length = static_cast<std::int64_t>(ref.length),
          .offset = static_cast<std::int64_t>(ref.offset),
          .sha256 = hash::hex(ref.sha256),
          .stored = static_cast<std::int64_t>(ref.stored),
          .xxh3 = digits_of(ref.xxh3)};
}

Result<Tree> held(const StoredRoot& root) {
  if (root.empty()) return Tree();
  PageRef ref;
  ref.bundle = root.bundle;
  ref.offset = static_cast<std::uint64_t>(root.offset);
  ref.stored = static_cast<std::uint64_t>(root.stored);
  ref.length = static_cast<std::uint64_t>(root.length);
  ref.sha256 = TRY(digest_of(root.sha256));
  ref.xxh3 = TRY(number_of(root.xxh3));
  TRY(decode_ref(encode_ref(ref)));  // Within its limits.
  return Tree(TreeRoot{ref, static_cast<std::uint8_t>(root.height)});
}

Error no_manifest(const Error& why) {
  return Error(Errc::kCorrupt, "a manifest is damaged: " + why.to_string());
}

Result<Manifest> manifest_of(const StoredManifest& stored) {
  Manifest manifest{.uuid = stored.uuid,
                    .version = stored.version,
                    .parent = stored.parent,
                    .parent_key = stored.parent_key,
                    .time = stored.time,
                    .message = stored.message,
                    .origin = stored.origin};
  manifest.tree = TRY(digest_of(stored.tree));
  manifest.names = TRY(held(stored.names));
  manifest.inodes = TRY(held(stored.inodes));
  manifest.chunks = TRY(held(stored.chunks));
  manifest.next_inode = static_cast<Inode>(stored.next_inode);
  manifest.totals = stored.totals;
  if (manifest.version != version_id(manifest.parent, manifest.tree)) {
    return Error(Errc::kCorrupt, "its version is not that of its tree").with_value(stored.version);
  }
  return manifest;
}

}  // namespace

std::string version_id(std::string_view parent, const hash::Digest& tree) {
  hash::Sha256 sha256;
  sha256.add("runnel version 1\n").add(parent).add("\n").add(hash::hex(tree));
  return hash::hex(sha256.finish()).substr(0, kVersionDigits);
}

bool is_version_id(std::string_view text) { return is_digits(text, kVersionDigits); }

Result<void> check_message(const std::string& message) {
  if (message.size() <= kMessageBytesMax) return {};
  return Error(Errc::kInvalid, "a message has at most " + std::to_string(kMessageBytesMax) +
                                   " bytes, and this one has " + std::to_string(message.size()))
      .with_field("message");
}

std::string manifest_key(std::string_view version, std::string_view nonce) {
  return "v/" + std::string(version) + "-" + std::string(nonce);
}

std::string encode_manifest(const Manifest& manifest) {
  StoredManifest record{.chunks = stored(manifest.chunks),
                        .inodes = stored(manifest.inodes),
                        .message = manifest.message,
                        .names = stored(manifest.names),
                        .next_inode = static_cast<std::int64_t>(manifest.next_inode),
                        .origin = manifest.origin,
                        .parent = manifest.parent,
                        .parent_key = manifest.parent_key,
                        .time = manifest.time,
                        .totals = manifest.totals,
                        .tree = hash::hex(manifest.tree),
                        .uuid = manifest.uuid,
                        .version = manifest.version};
  std::string text;
  json::Writer out(text);
  model::write_record(out, record);
  return text;
}

Result<Manifest> decode_manifest(std::string_view text) {
  const Result<json::Value> json = json::parse(text);
  if (!json.ok()) return no_manifest(json.error());
  if (const auto later = later_format(*json)) return *later;
  const Result<StoredManifest> record = model::read_record<StoredManifest>(*json);
  if (!record.ok()) return no_manifest(record.error());
  Result<Manifest> manifest = manifest_of(*record);
  if (!manifest.ok()) return no_manifest(manifest.error());
  return manifest;
}

}  // namespace runnel::volume
