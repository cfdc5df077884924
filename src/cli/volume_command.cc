#include <memory>
#include <utility>

#include "async/event_loop.h"
#include "cli/commands.h"
#include "cli/moment_text.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_target.h"
#include "env/files.h"
#include "home/paths.h"
#include "home/volume_places.h"
#include "object/open_store.h"
#include "volume/chunk_read.h"
#include "volume/get.h"
#include "volume/put.h"
#include "volume/volume.h"

namespace runnel::cli {
namespace {

using volume::Snapshot;
using volume::Volume;

constexpr std::size_t kNamesAtOnce = 4'096;
constexpr std::uint64_t kPieceBytes = 8 << 20;  // Of a file that is printed.

std::string count_text(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// The store of a volume, and the loop that it is asked on.
class VolumeSession {
 public:
  static Result<std::unique_ptr<VolumeSession>> open(const object::StoreUrl& place) {
    auto session = std::unique_ptr<VolumeSession>(new VolumeSession());
    session->loop_ = TRY(async::EventLoop::create());
    session->store_ = TRY(
        object::OpenedStore::open(*session->loop_, env::real_clock(), env::real_random(), place));
    return session;
  }
  ~VolumeSession() {
    if (store_) (void)loop_->block_on(store_->stop());
  }
  VolumeSession(const VolumeSession&) = delete;
  VolumeSession& operator=(const VolumeSession&) = delete;

  async::EventLoop& loop() { return *loop_; }
  const object::StoreMeter& meter() const { return store_->meter(); }
  volume::VolumeContext context() {
    return {store_->store(), env::real_clock(), env::real_random(), {}};
  }
  template <typename T>
  Result<T> run(Async<T> work) {
    return loop_->block_on(std::move(work));
  }
  Result<Volume> volume(const std::string& name) { return run(Volume::open(context(), name)); }

 private:
  VolumeSession() = default;

  std::unique_ptr<async::EventLoop> loop_;
  std::unique_ptr<object::OpenedStore> store_;
};
using SessionPtr = std::unique_ptr<VolumeSession>;

Result<SessionPtr> session_of(const Arguments& arguments, const home::Home& home,
                              const std::string& name) {
  return VolumeSession::open(TRY(home::place_of_volume(home, name, arguments.store)));
}

void answer(const Arguments& arguments, const json::Value& value, const std::string& text) {
  put(is_document(arguments.output) ? document(value, arguments.output) : text);
}

json::Value manifest_document(const volume::Manifest& manifest) {
  json::Value value = json::Value::object();
  value.set("version", json::Value::text(manifest.version));
  value.set("parent", json::Value::text(manifest.parent));
  value.set("time", json::Value::text(rfc3339(manifest.time)));
  value.set("message", json::Value::text(manifest.message));
  value.set("tree", json::Value::text(hash::hex(manifest.tree)));
  value.set("files", json::Value::integer(manifest.totals.files));
  value.set("folders", json::Value::integer(manifest.totals.folders));
  value.set("links", json::Value::integer(manifest.totals.links));
  value.set("bytes", json::Value::integer(manifest.totals.bytes));
  return value;
}

// --- Making and listing volumes.

Result<int> create(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const object::StoreUrl place = TRY(home::place_of_volume(home, target.name, arguments.store));
  const SessionPtr session = TRY(VolumeSession::open(place));
  const Volume made = TRY(session->run(Volume::create(session->context(), target.name)));
  TRY(home::remember_volume(home, target.name, place));
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(made.name()));
  value.set("store", json::Value::text(place.to_string()));
  value.set("uuid", json::Value::text(made.head().uuid));
  answer(arguments, value, made.name() + "\n");
  return 0;
}

json::Value volume_document(const std::string& name, const object::StoreUrl& place) {
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(name));
  value.set("store", json::Value::text(place.to_string()));
  const Result<SessionPtr> session = VolumeSession::open(place);
  const Result<Volume> opened =
      session.ok() ? (*session)->volume(name) : Result<Volume>(session.error());
  if (!opened.ok()) {
    value.set("problem", json::Value::text(opened.error().to_string()));
  } else if (const volume::VersionPlace* newest = opened->head().newest()) {
    value.set("version", json::Value::text(newest->version));
    value.set("versions", json::Value::integer(opened->head().generation));
  }
  return value;
}

Result<int> list(const Arguments& arguments, const home::Home& home) {
  Table table({"NAME", "LATEST", "VERSIONS", "STORE"});
  json::Value::List all;
  for (const auto& [name, place] : TRY(home::volume_places(home))) {
    all.push_back(volume_document(name, place));
    const json::Value& value = all.back();
    table.add({name, or_dash(text_of(value, "version", text_of(value, "problem"))),
               std::to_string(number_of(value, "versions")), place.to_string()});
  }
  json::Value value = json::Value::object();
  value.set("volumes", json::Value::list(std::move(all)));
  answer(arguments, value, is_document(arguments.output) ? "" : table_text(table));
  return 0;
}

// The tags of a version, with commas between.
std::string tags_of(const volume::Head& head, const std::string& version) {
  std::string text;
  for (const auto& [name, place] : head.tags) {
    if (place.version == version) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

Result<int> versions(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const SessionPtr session = TRY(session_of(arguments, home, target.name));
  Volume opened = TRY(session->volume(target.name));
  Table table({"VERSION", "TIME", "FILES", "SIZE", "TAGS", "MESSAGE"});
  json::Value::List all;
  for (const volume::VersionPlace& place : opened.head().recent) {
    const Snapshot snapshot = TRY(session->run(opened.snapshot(place.version)));
    const volume::Manifest& manifest = snapshot.manifest();
    table.add({manifest.version, moment_text(rfc3339(manifest.time)),
               std::to_string(manifest.totals.files), human(Bytes::count(manifest.totals.bytes)),
               or_dash(tags_of(opened.head(), manifest.version)), or_dash(manifest.message)});
    all.push_back(manifest_document(manifest));
  }
  json::Value value = json::Value::object();
  value.set("versions", json::Value::list(std::move(all)));
  answer(arguments, value, is_document(arguments.output) ? "" : table_text(table));
  return 0;
}

// --- Putting and getting.

Result<int> put_folder(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.target));
  if (!target.version.empty()) {
    return Error(Errc::kInvalid, "a put makes a new version, and takes none")
        .with_value(arguments.target)
        .with_hint("leave out @" + target.version);
  }
  const SessionPtr session = TRY(session_of(arguments, home, target.name));
  Volume opened = TRY(session->volume(target.name));
  const Duration begun = env::real_clock().boot();
  volume::PutOptions options;
  options.into = target.path;
  options.mirror = arguments.mirror;
  options.message = arguments.message.value_or("");
  const volume::PutResult result = TRY(session->run(
      volume::put_tree(session->loop(), opened, TRY(volume::SourceTree::open(arguments.source)),
                       std::move(options), {})));
  for (const std::string& path : result.passed_over) {
    say("runnel: warning: " + path + " is neither a file, a folder nor a link, and is left out");
  }
  say("put " + count_text(result.done.files, "file", "files") + ", " +
      human(Bytes::count(result.done.bytes)) + " (" + human(Bytes::count(result.done.stored)) +
      " stored) in " + human(env::real_clock().boot() - begun));
  answer(arguments, manifest_document(result.manifest), result.manifest.version + "\n");
  return 0;
}

Result<int> get_folder(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.source));
  const SessionPtr session = TRY(session_of(arguments, home, target.name));
  Volume opened = TRY(session->volume(target.name));
  Snapshot snapshot = TRY(session->run(opened.snapshot(target.version_or_latest())));
  const Duration begun = env::real_clock().boot();
  const std::string place = TRY(home::absolute_path(arguments.target));
  const volume::GetProgress got = TRY(session->run(
      volume::get_tree(session->loop(), opened, snapshot, target.path, place, {}, {})));
  say("got " + count_text(got.files, "file", "files") + ", " + human(Bytes::count(got.bytes)) +
      " of version " + snapshot.manifest().version + " in " +
      human(env::real_clock().boot() - begun));
  return 0;
}

// --- Looking into a version.

struct Opened {
  SessionPtr session;
  Volume volume;
  Snapshot snapshot;
  std::string path;
};

Result<Opened> open_target(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  SessionPtr session = TRY(session_of(arguments, home, target.name));
  Volume opened = TRY(session->volume(target.name));
  Snapshot snapshot = TRY(session->run(opened.snapshot(target.version_or_latest())));
  return Opened{std::move(session), std::move(opened), std::move(snapshot), target.path};
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
  value.set("changed", json::Value::text(rfc3339(Time::from_millis(node.changed * 1'000))));
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
      table_.add({mode_text(node), std::to_string(node.size),
                  moment_text(rfc3339(Time::from_millis(node.changed * 1'000))), name + target});
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

Result<int> list_folder(const Arguments& arguments, const home::Home& home) {
  Opened opened = TRY(open_target(arguments, home));
  const Snapshot::Found found = TRY(opened.session->run(opened.snapshot.at(opened.path)));
  Listing listing(arguments);
  if (found.node.kind != volume::NodeKind::kFolder) {
    listing.add(opened.path, found.node);
    listing.end_page();
  }
  for (std::string after; found.node.kind == volume::NodeKind::kFolder;) {
    const auto entries =
        TRY(opened.session->run(opened.snapshot.list(found.inode, after, kNamesAtOnce)));
    if (entries.empty()) break;
    after = entries.back().name;
    for (const Snapshot::Entry& entry : entries) {
      listing.add(entry.name, TRY(opened.session->run(opened.snapshot.node(entry.what.inode))));
    }
    listing.end_page();
  }
  listing.finish();
  return 0;
}

Result<int> print_file(const Arguments& arguments, const home::Home& home) {
  Opened opened = TRY(open_target(arguments, home));
  const Snapshot::Found found = TRY(opened.session->run(opened.snapshot.at(opened.path)));
  if (found.node.kind != volume::NodeKind::kFile) {
    return Error(Errc::kInvalid, "'" + opened.path + "' is no file").with_value(arguments.volume);
  }
  const std::vector<volume::Extent> extents =
      TRY(opened.session->run(opened.snapshot.extents(found.inode, found.node)));
  for (std::uint64_t offset = 0; offset < found.node.size; offset += kPieceBytes) {
    put(TRY(opened.session->run(volume::read_bytes(opened.volume.store(), opened.volume.prefix(),
                                                   extents, offset, kPieceBytes, {}))));
  }
  return 0;
}

Result<int> remove(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const std::vector<std::string> parts = TRY(volume::path_parts(target.path));
  if (parts.empty() || !target.version.empty()) {
    return Error(Errc::kInvalid, "rm needs the path of what is to go from the newest version")
        .with_value(arguments.volume)
        .with_hint("runnel volume rm NAME:/PATH");
  }
  const SessionPtr session = TRY(session_of(arguments, home, target.name));
  Volume opened = TRY(session->volume(target.name));
  Snapshot snapshot = TRY(session->run(opened.snapshot("latest")));
  TRY(session->run(snapshot.at(target.path)));  // A word for what is not there.
  volume::Edit root = volume::Edit::folder();
  volume::Edit* folder = &root;
  for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
    folder = &folder->entries.try_emplace(parts[part], volume::Edit::folder()).first->second;
  }
  folder->entries[parts.back()].gone = true;
  const volume::Manifest manifest =
      TRY(session->run(opened.publish(root, {}, 0, arguments.message.value_or(""))));
  answer(arguments, manifest_document(manifest), manifest.version + "\n");
  return 0;
}

Result<int> dispatch_volume(const Arguments& arguments, const home::Home& home) {
  switch (arguments.command) {
    case Command::kVolumeCreate: return create(arguments, home);
    case Command::kVolumeList: return list(arguments, home);
    case Command::kVolumeVersions: return versions(arguments, home);
    case Command::kVolumePut: return put_folder(arguments, home);
    case Command::kVolumeGet: return get_folder(arguments, home);
    case Command::kVolumeLs: return list_folder(arguments, home);
    case Command::kVolumeCat: return print_file(arguments, home);
    default: return remove(arguments, home);
  }
}

}  // namespace

int volume_command(const Arguments& arguments, const home::Home& home) {
  const Result<int> code = dispatch_volume(arguments, home);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace runnel::cli
