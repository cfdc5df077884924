#include "volume/dump_format.h"

#include <optional>

#include "base/binary.h"
#include "json/read.h"
#include "model/fields.h"
#include "volume/digits.h"
#include "volume/snapshot.h"

namespace runnel::volume {

struct StoredDump {
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::int64_t folders = 0;
  std::int64_t format = kDumpFormat;
  std::string kind;
  std::int64_t links = 0;
  std::string message;
  std::string tree;
  std::string version;
  std::string volume;
};

}  // namespace runnel::volume

namespace runnel::model {

template <>
struct Fields<volume::StoredDump> {
  static void visit(auto& visit, auto& dump) {
    visit("bytes", dump.bytes);
    visit("files", dump.files);
    visit("folders", dump.folders);
    visit("format", dump.format, Required());
    visit("kind", dump.kind, Required());
    visit("links", dump.links);
    visit("message", dump.message);
    visit("tree", dump.tree, Required());
    visit("version", dump.version, Required());
    visit("volume", dump.volume, Required());
  }
};

}  // namespace runnel::model

namespace runnel::volume {
namespace {

constexpr const char* kDumpKind = "runnel dump";

// A later format may have what this one does not know, so that its number is looked at first.
std::optional<Error> later_dump(const json::Value& document) {
  const json::Value* const format = document.is_object() ? document.find("format") : nullptr;
  if (format == nullptr || !format->is_int() || format->as_int() <= kDumpFormat) {
    return std::nullopt;
  }
  return Error(Errc::kUnsupported, "it is a dump of format " + std::to_string(format->as_int()) +
                                       ", and this build reads formats up to " +
                                       std::to_string(kDumpFormat))
      .with_hint("load it with the Runnel that wrote it, or a later one");
}

Error no_dump(const Error& why) {
  return Error(Errc::kCorrupt, "the beginning of the dump is damaged: " + why.to_string());
}

}  // namespace

std::string encode_dump_header(const DumpHeader& header) {
  const StoredDump stored{.bytes = header.totals.bytes,
                          .files = header.totals.files,
                          .folders = header.totals.folders,
                          .kind = kDumpKind,
                          .links = header.totals.links,
                          .message = header.message,
                          .tree = hash::hex(header.tree),
                          .version = header.version,
                          .volume = header.volume};
  return model::record_text(stored);
}

Result<DumpHeader> decode_dump_header(std::string_view text) {
  const Result<json::Value> json = json::parse(text);
  if (!json.ok()) return no_dump(json.error());
  if (const auto later = later_dump(*json)) return *later;
  const Result<StoredDump> stored = model::read_record<StoredDump>(*json);
  if (!stored.ok()) return no_dump(stored.error());
  const Result<hash::Digest> tree = digest_of(stored->tree);
  if (!tree.ok()) return no_dump(tree.error());
  DumpHeader header{stored->volume, stored->version, stored->message, *tree, {}};
  header.totals.bytes = stored->bytes;
  header.totals.files = stored->files;
  header.totals.folders = stored->folders;
  header.totals.links = stored->links;
  return header;
}

void DumpDigest::add(const std::vector<std::string>& path, const Node& node) {
  Node kept = node;
  kept.extents.clear();
  kept.links = 1;
  kept.owner.reset();
  kept.group.reset();
  if (node.kind == NodeKind::kFolder) kept.hash = {};  // Not known before what is in it.
  std::string text;
  Encoder(text).text(path_text(path)).text(encode_node(kept));
  hash_.add(text);
  ++entries_;
}

std::string DumpDigest::end() {
  json::Value value = json::Value::object();
  value.set("entries", json::Value::integer(entries_));
  value.set("sha256", json::Value::text(hash::hex(hash_.finish())));
  return value.dump() + "\n";
}

}  // namespace runnel::volume
