#include "volume/compact.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "volume/bundle.h"
#include "volume/chunk_read.h"
#include "volume/edit.h"
#include "volume/pack.h"
#include "volume/put.h"

namespace runnel::volume {
namespace {

constexpr std::int64_t kPackBytesMax = PutOptions::kPackBytesMax + (32 << 20);  // With its table.
constexpr std::uint64_t kDeadShare = 20;  // One part in so many may be dead.

struct Candidate {
  ObjectId pack;
  std::uint64_t dead = 0;
  std::uint64_t bytes = 0;
};

// Packs to be written anew, those with the largest dead share first, until little is dead.
std::set<ObjectId> choose(std::vector<Candidate> candidates, std::uint64_t dead,
                          std::uint64_t bytes) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& one, const Candidate& other) {
    return one.dead * other.bytes > other.dead * one.bytes;
  });
  std::set<ObjectId> chosen;
  for (const Candidate& each : candidates) {
    if (dead * kDeadShare <= bytes || each.dead == 0) break;
    chosen.insert(each.pack);
    dead -= each.dead;
    bytes -= each.dead;
  }
  return chosen;
}

// Entries of a tree that have to change, with what they hold.
class Collected final : public PageVisitor {
 public:
  using Wanted = std::function<Result<bool>(std::string_view key, std::string_view value)>;
  explicit Collected(Wanted wanted) : wanted_(std::move(wanted)) {}

  bool enters(const PageRef&, std::uint8_t) override { return true; }
  Result<void> leaf(const Page& page) override {
    for (std::size_t index = 0; index < page.size(); ++index) {
      if (!TRY(wanted_(page.key(index), page.value(index)))) continue;
      entries.emplace_back(page.key(index), page.value(index));
    }
    return {};
  }
  Result<void> lost(const PageRef&, const Error& error) override { return error; }

  std::vector<TreeEntry> entries;

 private:
  Wanted wanted_;
};

class Compactor {
 public:
  Compactor(Volume& volume, const Marks& newest, const Marks& others,
            const std::map<std::string, std::int64_t>& sizes, async::StopToken stop)
      : volume_(volume), newest_(newest), others_(others), sizes_(sizes), stop_(std::move(stop)) {}

  Async<Compaction> run() {
    if (volume_.head().newest() == nullptr) co_return done_;
    const std::int64_t base = volume_.head().generation;
    Manifest manifest = CO_TRY(co_await volume_.manifest_at(*volume_.head().newest()));
    chosen_ = packs_to_compact(newest_, others_, sizes_);
    Collected files([this](auto key, auto value) { return is_moved(key, value); });
    if (!chosen_.empty()) CO_TRY(co_await walk(volume_.pages(), manifest.inodes, files));
    const LivingChunks living = CO_TRY(living_of(files.entries));
    for (const auto& [pack, chunks] : living) CO_TRY(co_await repack(pack, chunks));
    CO_TRY(co_await put_pack());
    Collected chunks([this](auto, auto value) { return is_other(value); });
    CO_TRY(co_await walk(volume_.pages(), manifest.chunks, chunks));
    if (files.entries.empty() && chunks.entries.empty()) co_return done_;
    CO_TRY(co_await rewrite(manifest, files.entries, chunks.entries));
    const KeysInUse keys = [this] { return put_; };
    done_.is_done = CO_TRY(co_await volume_.publish_manifest(manifest, base, true, keys));
    co_return done_;
  }

 private:
  using Place = std::pair<ObjectId, std::uint64_t>;
  static Place place_of(const Extent& extent) { return {extent.pack, extent.offset}; }

  Result<bool> is_moved(std::string_view key, std::string_view value) const {
    for (const Extent& extent : TRY(extents_of(key, value))) {
      if (chosen_.contains(extent.pack)) return true;
    }
    return false;
  }

  // An entry of the tree of chunks that has another place now, or that nobody needs.
  Result<bool> is_other(std::string_view value) const {
    for (const Extent& extent : TRY(decode_extents(value))) {
      if (moved_.contains(place_of(extent)) || !is_needed(extent)) return true;
    }
    return false;
  }
  bool is_needed(const Extent& extent) const {
    return newest_.lives(extent) || others_.lives(extent);
  }

  // --- Packing anew.

  // Extents of the chosen packs, by their offsets.
  using LivingChunks = std::map<ObjectId, std::map<std::uint64_t, Extent>>;

  Async<void> repack(const ObjectId& pack, const std::map<std::uint64_t, Extent>& living) {
    CO_TRY(stop_.check());
    const std::string bytes = CO_TRY(co_await volume_.store().get(volume_.prefix() + pack_key(pack),
                                                                  kPackBytesMax, stop_))
                                  .bytes;
    for (const PackEntry& entry : CO_TRY(entries_of(bytes))) {
      const auto found = living.find(entry.offset);
      if (found == living.end()) continue;
      const std::string_view stored = std::string_view(bytes).substr(entry.offset, entry.stored);
      CO_TRY(check_chunk(found->second, stored));  // Or damage would be written as if whole.
      Extent moved = builder_.add(entry.hash, stored, entry.length, entry.codec);
      waiting_.emplace_back(place_of(found->second), std::move(moved));
      done_.packed += static_cast<std::int64_t>(entry.stored);
      if (builder_.bytes() >= kPackBytesTarget) CO_TRY(co_await put_pack());
    }
    co_return {};
  }

  Result<LivingChunks> living_of(const std::vector<TreeEntry>& files) const {
    LivingChunks living;
    for (const auto& [key, value] : files) {
      for (Extent& extent : TRY(extents_of(key, value))) {
        if (!chosen_.contains(extent.pack)) continue;
        living[extent.pack].emplace(extent.offset, std::move(extent));
      }
    }
    return living;
  }

  static Result<std::vector<PackEntry>> entries_of(const std::string& pack) {
    const std::size_t size = pack.size();
    if (size < kPackTrailerBytes) return Error(Errc::kCorrupt, "a pack has no end");
    const std::string_view all = pack;
    const PackTable table = TRY(parse_pack_trailer(all.substr(size - kPackTrailerBytes), size));
    return parse_pack_table(all.substr(table.offset, table.length), table);
  }

  Async<void> put_pack() {
    if (builder_.count() == 0) co_return {};
    std::string bytes = builder_.finish();
    const ObjectId id = volume_.new_object_id(bytes);
    CO_TRY(co_await volume_.put_object(pack_key(id), std::move(bytes)));
    put_.insert(pack_key(id));
    for (auto& [place, extent] : std::exchange(waiting_, {})) {
      extent.pack = id;
      moved_.emplace(place, std::move(extent));
    }
    co_return {};
  }

  // --- The index.

  Async<void> rewrite(Manifest& manifest, const std::vector<TreeEntry>& files,
                      const std::vector<TreeEntry>& chunks) {
    BundleWriter writer(volume_.session().session().nonces());
    PageSource& pages = volume_.pages();
    const Tree inodes = CO_TRY(co_await change(pages, writer, manifest.inodes,
                                               CO_TRY(moved_files(files)), kIndexPageBytes));
    const Tree kept = CO_TRY(co_await change(pages, writer, manifest.chunks,
                                             CO_TRY(moved_chunks(chunks)), kChunkPageBytes));
    for (NewObject& bundle : writer.finish()) {
      put_.insert(bundle_key(bundle.id));
      CO_TRY(co_await volume_.put_object(bundle_key(bundle.id), std::move(bundle.bytes)));
    }
    manifest.inodes = writer.resolved(inodes);
    manifest.chunks = writer.resolved(kept);
    co_return {};
  }

  void move(std::vector<Extent>& extents) const {
    for (Extent& extent : extents) {
      const auto found = moved_.find(place_of(extent));
      if (found != moved_.end()) extent = found->second;
    }
  }

  Result<std::vector<Change>> moved_files(const std::vector<TreeEntry>& files) const {
    std::vector<Change> changes;
    for (const auto& [key, value] : files) {
      if (key.size() == sizeof(Inode)) {
        Node node = TRY(decode_node(value));
        move(node.extents);
        changes.push_back({key, encode_node(node)});
      } else {
        std::vector<Extent> extents = TRY(decode_extents(value));
        move(extents);
        changes.push_back({key, encode_extents(extents)});
      }
    }
    return changes;
  }

  Result<std::vector<Change>> moved_chunks(const std::vector<TreeEntry>& chunks) const {
    std::vector<Change> changes;
    for (const auto& [key, value] : chunks) {
      std::vector<Extent> extents = TRY(decode_extents(value));
      const bool stays = std::all_of(extents.begin(), extents.end(),
                                     [this](const Extent& extent) { return is_needed(extent); });
      move(extents);
      changes.push_back({key, stays ? std::optional(encode_extents(extents)) : std::nullopt});
    }
    return changes;
  }

  Volume& volume_;
  const Marks& newest_;
  const Marks& others_;
  const std::map<std::string, std::int64_t>& sizes_;
  const async::StopToken stop_;
  std::set<ObjectId> chosen_;
  PackBuilder builder_;
  std::vector<std::pair<Place, Extent>> waiting_;  // Of the pack that is being filled.
  std::map<Place, Extent> moved_;
  std::set<std::string> put_;  // Keys.
  Compaction done_;
};

}  // namespace

std::set<ObjectId> packs_to_compact(const Marks& newest, const Marks& others,
                                    const std::map<std::string, std::int64_t>& sizes) {
  std::vector<Candidate> candidates;
  std::uint64_t dead = 0;
  std::uint64_t bytes = 0;
  for (const auto& [pack, living] : newest.packs()) {
    const auto size = sizes.find(pack_key(pack));
    if (size == sizes.end()) continue;
    const auto stored = static_cast<std::uint64_t>(size->second);
    // No byte is dead of a pack whose chunks all live: every gc would pack it anew for nothing.
    const std::uint64_t needed =
        kPackFrameBytesMax + living.bytes + living.chunks * kPackEntryBytesMax;
    const std::uint64_t unused = stored - std::min(stored, needed);
    bytes += stored;
    dead += unused;
    if (!others.has(pack_key(pack))) candidates.push_back({pack, unused, stored});
  }
  return choose(std::move(candidates), dead, bytes);
}

Async<Compaction> compact(Volume& volume, const Marks& newest, const Marks& others,
                          const std::map<std::string, std::int64_t>& sizes, async::StopToken stop) {
  Compactor compactor(volume, newest, others, sizes, std::move(stop));
  co_return co_await compactor.run();
}

}  // namespace runnel::volume
