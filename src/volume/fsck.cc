#include "volume/fsck.h"

#include <set>
#include <utility>

#include "volume/bundle.h"
#include "volume/clone.h"
#include "volume/edit.h"
#include "volume/extent_reader.h"
#include "volume/file_hash.h"
#include "volume/kept_session.h"
#include "volume/store_pages.h"

namespace runnel::volume {
namespace {

constexpr std::uint64_t kReadAtOnce = 64 << 20;
constexpr std::size_t kListedAtOnce = 4'096;
constexpr std::size_t kObjectsAtOnce = 1'024;
constexpr int kLooksMax = 5;  // At a version that is packed anew meanwhile.

bool is_damage(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound;
}

// Collects the pages of a tree that cannot be had.
class LostPages final : public PageVisitor {
 public:
  explicit LostPages(std::set<std::pair<ObjectId, std::uint64_t>>& seen) : seen_(seen) {}

  bool enters(const PageRef& ref, std::uint8_t) override {
    return seen_.emplace(ref.bundle, ref.offset).second;
  }
  Result<void> leaf(const Page&) override { return {}; }
  Result<void> lost(const PageRef&, const Error& error) override {
    if (!is_damage(error)) return error;
    found.push_back(error.message);
    return {};
  }

  std::vector<std::string> found;

 private:
  std::set<std::pair<ObjectId, std::uint64_t>>& seen_;
};

// A file that is looked at: its extents are [begin, end) of the batch's.
struct Looked {
  std::string path;
  Node node;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Check {
 public:
  Check(async::EventLoop& loop, Volume& volume, FsckOptions options, async::StopToken stop)
      : volume_(volume),
        options_(std::move(options)),
        stop_(std::move(stop)),
        reader_(loop, volume.ranges(), stop_),
        pages_(volume.store(), volume.prefix(), *volume.memory(), stop_, PageCheck::kHash) {}

  Async<FsckResult> run() {
    const Result<void> done = co_await look_at_all();
    MUST(co_await reader_.close());
    CO_TRY(Result<void>(done));
    co_return std::move(result_);
  }

 private:
  Async<void> look_at_all() {
    if (const VersionPlace* newest = volume_.head().newest()) result_.newest = newest->version;
    std::vector<VersionPlace> places = volume_.head().recent;
    for (const auto& [name, place] : volume_.head().tags) places.push_back(place);
    std::set<std::string> seen;
    for (const VersionPlace& place : places) {
      if (seen.insert(place.key).second) CO_TRY(co_await look_until_it_stays(place));
    }
    if (!volume_.head().bases.empty()) CO_TRY(co_await look_at_promise());
    if (options_.repair && !bad_.empty()) co_return co_await forget();
    co_return {};
  }

  // An older head of the origin may have been put back.
  Async<void> look_at_promise() {
    const bool is_kept =
        CO_TRY(co_await is_promised(volume_.store(), volume_.random(), volume_.head(), stop_));
    if (is_kept) co_return {};
    const std::string& origin = volume_.head().bases.front();
    version_ = result_.newest;
    tell("", "volume " + origin + " keeps no longer what this clone reads of it, and its next gc " +
                 "may delete that: copy it to a new volume: runnel volume cp");
    co_return {};
  }

  // A gc beside it may drop a version, or pack it anew, and delete what is looked at: that is no
  // damage.
  Async<void> look_until_it_stays(VersionPlace place) {
    for (int looks = 0; looks < kLooksMax; ++looks) {
      const std::size_t damages = result_.damages.size();
      const std::set<std::string> told = told_;
      CO_TRY(co_await look_at(place));
      if (result_.damages.size() == damages) break;
      CO_TRY(co_await volume_.refresh());
      if (volume_.head().holds(place.key)) break;
      result_.damages.resize(damages);
      told_ = told;
      const VersionPlace* const now = volume_.head().find(place.version);
      if (now == nullptr) co_return {};
      place = *now;
    }
    ++result_.versions;
    co_return {};
  }

  Async<void> look_at(VersionPlace place) {
    version_ = place.version;
    Result<Manifest> manifest = co_await volume_.manifest_at(place);
    if (!manifest.ok()) co_return damaged("", manifest.error());
    CO_TRY(co_await look_at_manifest(place, encode_manifest(*manifest)));
    std::vector<Tree> trees{manifest->names, manifest->inodes};
    // Puts take chunks over from the newest version alone, so gc keeps no other's tree of them.
    const VersionPlace* const newest = volume_.head().newest();
    if (newest != nullptr && place == *newest) trees.push_back(manifest->chunks);
    for (const Tree& tree : trees) {
      LostPages lost(pages_seen_);
      CO_TRY(co_await walk(pages_, tree, lost));
      for (const std::string& each : lost.found) tell("", each);
    }
    Snapshot snapshot(pages_, *std::move(manifest));
    if (!snapshot.manifest().inodes) co_return {};
    walked_ = {};
    CO_TRY(co_await look_into(snapshot, kRootInode, ""));
    CO_TRY(co_await look_at_objects());
    co_return co_await read_batch();
  }

  // The head holds the newest one, too, but not for long.
  Async<void> look_at_manifest(const VersionPlace& place, std::string text) {
    constexpr int kLooks = 2;  // It may be changed on its way once.
    for (int look = 0; look < kLooks; ++look) {
      const Result<object::Object> stored =
          co_await volume_.store().get(volume_.prefix() + place.key, std::ssize(text) + 1, stop_);
      if (!stored.ok() && stored.error().code != Errc::kInvalid) {
        co_return damaged("", stored.error());
      }
      if (stored.ok() && stored->bytes == text) co_return {};
    }
    co_return damaged("", Error(Errc::kCorrupt, "the manifest " + place.key + " is damaged"));
  }

  // The damage is told; an error of the store is handed on.
  Result<void> damaged(const std::string& path, const Error& error) {
    if (!is_damage(error)) return error;
    tell(path, error.message);
    return {};
  }
  // Once: a page that cannot be had is met by the walk, and by who looks for a name.
  void tell(const std::string& path, const std::string& what) {
    if (!told_.insert(version_ + "\n" + path + "\n" + what).second) return;
    result_.damages.push_back({version_, path, what});
  }

  // --- Files.

  Async<void> look_into(Snapshot& snapshot, Inode folder, std::string path) {
    const Result<void> entered = walked_.enter(folder);
    if (!entered.ok()) co_return damaged(path, entered.error());
    for (std::string after;;) {
      CO_TRY(stop_.check());
      const Result<std::vector<Snapshot::Entry>> entries =
          co_await snapshot.list(folder, after, kListedAtOnce);
      if (!entries.ok()) co_return damaged(path, entries.error());
      if (entries->empty()) co_return {};
      after = entries->back().name;
      for (const Snapshot::Entry& entry : *entries) {
        const std::string below = path.empty() ? entry.name : path + "/" + entry.name;
        CO_TRY(co_await look_at_entry(snapshot, entry.what, below));
      }
    }
  }

  Async<void> look_at_entry(Snapshot& snapshot, Name what, std::string path) {
    if (what.kind == NodeKind::kFolder) {
      co_return co_await look_into(snapshot, what.inode, std::move(path));
    }
    Result<Node> node = co_await snapshot.node(what.inode);
    if (!node.ok()) co_return damaged(path, node.error());
    if (node->kind != NodeKind::kFile) co_return {};
    Result<std::vector<Extent>> extents = co_await snapshot.extents(what.inode, *node);
    if (!extents.ok()) co_return damaged(path, extents.error());
    // The same content at the same places was read for another version.
    const std::string seen(node->hash.data(), node->hash.size());
    if (!read_.insert(hash::sha256(seen + encode_extents(*extents))).second) co_return {};
    if (is_linked(*extents)) co_return co_await take_object(std::move(path), extents->front());
    co_return co_await take(std::move(path), *std::move(node), *std::move(extents));
  }

  // Nobody knows what its bytes should be, but whether it is the one that was linked, its store
  // tells to who reads one of them.
  Async<void> take_object(std::string path, const Extent& object) {
    objects_.push_back(part_of_object(object, object.length - 1, 1));
    object_paths_.push_back(std::move(path));
    if (objects_.size() < kObjectsAtOnce) co_return {};
    co_return co_await look_at_objects();
  }

  Async<void> look_at_objects() {
    const std::vector<std::string> paths = std::exchange(object_paths_, {});
    const auto bytes = CO_TRY(co_await reader_.read(std::exchange(objects_, {})));
    for (std::size_t index = 0; index < paths.size(); ++index) {
      ++result_.files;
      if (bytes[index].ok()) continue;
      const Error& error = bytes[index].error();
      if (!is_damage(error)) co_return error;
      result_.damages.push_back({version_, paths[index], error.message, true});
    }
    tell_progress();
    co_return {};
  }

  void tell_progress() const {
    if (options_.progress) options_.progress({result_.files, result_.bytes});
  }

  Async<void> take(std::string path, Node node, std::vector<Extent> extents) {
    if (node.size > kReadAtOnce) {
      co_return co_await read_long(std::move(path), std::move(node), std::move(extents));
    }
    const std::size_t begin = extents_.size();
    for (Extent& extent : extents) extents_.push_back(std::move(extent));
    waiting_bytes_ += node.size;
    waiting_.push_back({std::move(path), std::move(node), begin, extents_.size()});
    if (waiting_bytes_ < kReadAtOnce) co_return {};
    co_return co_await read_batch();
  }

  Async<void> read_batch() {
    const std::vector<Looked> files = std::exchange(waiting_, {});
    const std::vector<Extent> extents = std::exchange(extents_, {});
    waiting_bytes_ = 0;
    const std::vector<Result<std::string>> chunks = CO_TRY(co_await reader_.read(extents));
    for (const Looked& file : files) {
      FileHash hash;
      bool is_whole = true;
      for (std::size_t index = file.begin; index < file.end && is_whole; ++index) {
        is_whole = CO_TRY(add(hash, file.path, extents[index], chunks[index]));
      }
      if (is_whole) CO_TRY(compare(file.path, file.node, hash));
    }
    tell_progress();
    co_return {};
  }

  Async<void> read_long(std::string path, Node node, std::vector<Extent> extents) {
    FileHash hash;
    for (std::size_t next = 0; next < extents.size();) {
      std::vector<Extent> part;
      std::uint64_t bytes = 0;
      for (; next < extents.size() && bytes < kReadAtOnce; ++next) {
        bytes += extents[next].length;
        part.push_back(extents[next]);
      }
      const std::vector<Result<std::string>> chunks = CO_TRY(co_await reader_.read(part));
      for (std::size_t index = 0; index < part.size(); ++index) {
        const bool is_whole = CO_TRY(add(hash, path, part[index], chunks[index]));
        if (!is_whole) co_return {};
      }
      tell_progress();
    }
    co_return compare(path, node, hash);
  }

  // False when the chunk cannot be had: that is told.
  Result<bool> add(FileHash& hash, const std::string& path, const Extent& extent,
                   const Result<std::string>& chunk) {
    if (!chunk.ok()) {
      TRY(damaged(path, chunk.error()));
      bad_.emplace(extent.pack, extent.offset);
      return false;
    }
    hash.add(*chunk);
    result_.bytes += std::ssize(*chunk);
    return true;
  }

  Result<void> compare(const std::string& path, const Node& node, FileHash& hash) {
    ++result_.files;
    if (hash.size() == node.size && hash.finish() == node.hash) return {};
    return damaged(path, Error(Errc::kCorrupt, "the file is not what was put"));
  }

  // --- Repair.

  // The newest version keeps its files; a put that has what they should be stores it anew.
  Async<void> forget() {
    const std::int64_t base = volume_.head().generation;
    if (volume_.head().newest() == nullptr) co_return {};
    Manifest manifest = CO_TRY(co_await volume_.manifest_at(*volume_.head().newest()));
    std::vector<Change> changes;
    for (auto& [key, value] :
         CO_TRY(co_await scan(volume_.pages(), manifest.chunks, "", "", kAllEntries))) {
      for (const Extent& extent : CO_TRY(decode_extents(value))) {
        if (bad_.contains({extent.pack, extent.offset})) changes.push_back({key, std::nullopt});
      }
    }
    if (changes.empty()) co_return {};
    result_.forgotten = std::ssize(changes);
    BundleWriter writer(volume_.session().session().nonces());
    const Tree chunks = CO_TRY(co_await change(volume_.pages(), writer, manifest.chunks,
                                               std::move(changes), kChunkPageBytes));
    for (NewObject& bundle : writer.finish()) {
      CO_TRY(co_await volume_.put_object(bundle_key(bundle.id), std::move(bundle.bytes)));
    }
    manifest.chunks = writer.resolved(chunks);
    const bool is_done = CO_TRY(co_await volume_.publish_manifest(
        std::move(manifest), base, true, [] { return std::set<std::string>(); }));
    if (is_done) co_return {};
    co_return Error(Errc::kConflict, "somebody published a version meanwhile")
        .with_hint("run fsck --repair again");
  }

  Volume& volume_;
  const FsckOptions options_;
  const async::StopToken stop_;
  ExtentReader reader_;
  StorePages pages_;
  std::string version_;  // That is looked at.
  std::set<std::pair<ObjectId, std::uint64_t>> pages_seen_;
  std::set<hash::Digest> read_;  // Of hash and places of each file.
  std::vector<Looked> waiting_;
  std::vector<Extent> extents_;  // Of the waiting files.
  std::uint64_t waiting_bytes_ = 0;
  std::vector<Extent> objects_;  // A byte of each that is linked, and
  std::vector<std::string> object_paths_;
  std::set<std::pair<ObjectId, std::uint64_t>> bad_;  // Places of chunks.
  std::set<std::string> told_;
  WalkedFolders walked_;  // Of the version that is looked at.
  FsckResult result_;
};

Async<FsckResult> run_check(async::EventLoop& loop, Volume& volume, FsckOptions options,
                            async::StopToken stop) {
  Check check(loop, volume, std::move(options), std::move(stop));
  co_return co_await check.run();
}

}  // namespace

Async<FsckResult> check_volume(async::EventLoop& loop, Volume& volume, FsckOptions options,
                               async::StopToken stop) {
  if (!options.repair) {
    co_return co_await run_check(loop, volume, std::move(options), std::move(stop));
  }
  CO_TRY(co_await volume.begin_writing(volume.processes().this_one("fsck")));
  co_return co_await with_session<FsckResult>(
      loop, volume, [] { return std::set<std::string>(); },
      [&](async::StopToken token) { return run_check(loop, volume, options, std::move(token)); },
      std::move(stop));
}

}  // namespace runnel::volume
