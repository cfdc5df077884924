#include <algorithm>
#include <utility>

#include "cli/commands.h"
#include "cli/moment_text.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "volume/chunk_read.h"

namespace runnel::cli {
namespace {

using volume::Snapshot;
using volume::Volume;

constexpr std::size_t kNamesAtOnce = 4'096;
constexpr std::uint64_t kPieceBytes = 8 << 20;  // Of a file that is printed.

struct Opened {
  VolumeClientPtr client;
  Volume volume;
  Snapshot snapshot;
  std::string path;
};

Result<Opened> open_target(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  Snapshot snapshot = TRY(client->run(opened.snapshot(target.version_or_latest())));
  return Opened{std::move(client), std::move(opened), std::move(snapshot), target.path};
}

// Up to the year 9999: somebody else's index may say anything.
std::string changed_text(const volume::Node& node) {
  constexpr std::int64_t kSecondsMax = 253'402'300'799;
  const std::int64_t seconds = std::clamp(node.changed, -kSecondsMax, kSecondsMax);
  return rfc3339(Time::from_millis(seconds * 1'000));
}

std::string mode_text(const volume::Node& node) {
  constexpr std::string_view kBits = "rwxrwxrwx";
  std::string text(1, node.kind == volume::NodeKind::kFolder ? 'd'
                      : node.kind == volume::NodeKind::kLink ? 'l'
                                                             : '-');
  for (std::size_t bit = 0; bit < kBits.size(); ++bit) {
    text += (node.mode >> (kBits.size() - 1 - bit) & 1U) != 0 ? kBits[bit] : '-';
  }
  return text;
}

json::Value node_document(const std::string& name, const volume::Node& node) {
  json::Value value = json::Value::object();
  const char* const kind = node.kind == volume::NodeKind::kFolder ? "folder"
                           : node.kind == volume::NodeKind::kLink ? "link"
                                                                  : "file";
  value.set("name", json::Value::text(name));
  value.set("kind", json::Value::text(kind));
  value.set("mode", json::Value::integer(node.mode));
  value.set("bytes", json::Value::integer(static_cast<std::int64_t>(node.size)));
  value.set("changed", json::Value::text(changed_text(node)));
  if (node.kind == volume::NodeKind::kLink) value.set("target", json::Value::text(node.target));
  return value;
}

// Names a page at a time, so that a folder of a million takes no memory.
class Listing {
 public:
  explicit Listing(const Arguments& arguments)
      : arguments_(arguments), long_(arguments.tasks || is_whole(arguments.output)) {}

  void add(const std::string& name, const volume::Node& node) {
    if (is_document(arguments_.output)) {
      all_.push_back(node_document(name, node));
    } else if (long_) {
      const std::string target = node.kind == volume::NodeKind::kLink ? " -> " + node.target : "";
      table_.add({mode_text(node), std::to_string(node.size), moment_text(changed_text(node)),
                  name + target});
    } else {
      text_ += printable(name) + (node.kind == volume::NodeKind::kFolder ? "/\n" : "\n");
    }
  }
  void end_page() { put(std::exchange(text_, {})); }
  void finish() {
    json::Value value = json::Value::object();
    value.set("entries", json::Value::list(std::move(all_)));
    answer(arguments_, value, long_ && !is_document(arguments_.output) ? table_text(table_) : "");
  }

 private:
  const Arguments& arguments_;
  const bool long_;
  Table table_{{"MODE", "BYTES", "CHANGED", "NAME"}};
  json::Value::List all_;
  std::string text_;
};

}  // namespace

Result<int> list_volume_folder(const Arguments& arguments, const home::Home& home) {
  Opened opened = TRY(open_target(arguments, home));
  const Snapshot::Found found = TRY(opened.client->run(opened.snapshot.at(opened.path)));
  Listing listing(arguments);
  if (found.node.kind != volume::NodeKind::kFolder) {
    listing.add(opened.path, found.node);
    listing.end_page();
  }
  for (std::string after; found.node.kind == volume::NodeKind::kFolder;) {
    const auto entries =
        TRY(opened.client->run(opened.snapshot.list(found.inode, after, kNamesAtOnce)));
    if (entries.empty()) break;
    after = entries.back().name;
    for (const Snapshot::Entry& entry : entries) {
      listing.add(entry.name, TRY(opened.client->run(opened.snapshot.node(entry.what.inode))));
    }
    listing.end_page();
  }
  listing.finish();
  return 0;
}

Result<int> print_volume_file(const Arguments& arguments, const home::Home& home) {
  Opened opened = TRY(open_target(arguments, home));
  const Snapshot::Found found = TRY(opened.client->run(opened.snapshot.at(opened.path)));
  if (found.node.kind != volume::NodeKind::kFile) {
    return Error(Errc::kInvalid, "'" + opened.path + "' is no file").with_value(arguments.volume);
  }
  const std::vector<volume::Extent> extents =
      TRY(opened.client->run(opened.snapshot.extents(found.inode, found.node)));
  for (std::uint64_t offset = 0; offset < found.node.size; offset += kPieceBytes) {
    put(TRY(opened.client->run(
        volume::read_bytes(opened.volume.ranges(), extents, offset, kPieceBytes, {}))));
  }
  return 0;
}

}  // namespace runnel::cli
