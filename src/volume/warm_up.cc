#include "volume/warm_up.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "async/together.h"
#include "env/aligned_bytes.h"
#include "volume/fetch_plan.h"
#include "volume/kept_session.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kWarmedNames = 4'096;
constexpr std::uint64_t kWarmedRange = 4 << 20;  // As a mount reads long files ahead.
constexpr std::size_t kWarmedAtOnce = 8;
constexpr std::uint64_t kWarmedBatch = DiskCache::kWritingMax / 2;
// What comes may take the place of what was there; what comes again lies together from then on.
constexpr int kRoundsMax = 4;

Error no_copy_of(const LinkedObject& object) {
  const std::string name = object.store + "/" + object.key;
  return Error(Errc::kUnsupported,
               "a cache on the disk keeps no objects of other buckets, such as " + name)
      .with_value(name)
      .with_hint("pack them first: runnel volume cp, into another volume");
}

// Ranges of objects. One that lies in another may be in it, too.
class RangeSet {
 public:
  using Start = std::pair<ObjectId, std::uint64_t>;

  bool covers(const ObjectRange& range) const {
    const auto behind = ranges_.upper_bound({range.object, range.offset});
    return behind != ranges_.begin() && std::prev(behind)->second.covers(range);
  }
  // Bytes that it has more of now, as far as ranges that begin at one place tell.
  std::int64_t add(const ObjectRange& range) {
    const auto [place, is_new] = ranges_.try_emplace({range.object, range.offset}, range);
    const std::uint64_t before = is_new ? 0 : place->second.length;
    if (range.length <= before) return 0;
    place->second = range;
    return static_cast<std::int64_t>(range.length - before);
  }
  const std::map<Start, ObjectRange>& all() const { return ranges_; }

 private:
  std::map<Start, ObjectRange> ranges_;
};

class WarmingUp {
 public:
  WarmingUp(async::EventLoop& loop, Volume& volume, Snapshot& snapshot, DiskCache& cache,
            WarmUpProgress progress, async::StopToken stop)
      : loop_(loop),
        volume_(volume),
        snapshot_(snapshot),
        cache_(cache),
        key_(volume_key_of(snapshot.manifest().uuid)),
        progress_(std::move(progress)),
        stop_(std::move(stop)) {}

  Async<WarmUp> run(std::string path) {
    Snapshot::Found found = CO_TRY(co_await snapshot_.at(std::move(path)));
    CO_TRY(co_await take(found.inode, std::move(found.node)));
    while (!folders_.empty()) {
      const Inode folder = folders_.back();
      folders_.pop_back();
      CO_TRY(co_await take_folder(folder));
    }
    CO_TRY(co_await bring_batch());
    CO_TRY(co_await bring_what_went());
    co_return done_;
  }

 private:
  Async<void> take_folder(Inode folder) {
    CO_TRY(walked_.enter(folder));
    for (std::string after;;) {
      const std::vector<Snapshot::Entry> entries =
          CO_TRY(co_await snapshot_.list(folder, after, kWarmedNames));
      if (entries.empty()) co_return {};
      after = entries.back().name;
      for (const Snapshot::Entry& entry : entries) {
        Node node = CO_TRY(co_await snapshot_.node(entry.what.inode));
        CO_TRY(co_await take(entry.what.inode, std::move(node)));
      }
    }
  }

  Async<void> take(Inode inode, Node node) {
    if (node.kind == NodeKind::kFolder) folders_.push_back(inode);
    if (node.kind != NodeKind::kFile) co_return {};
    ++done_.files;
    for (Extent& extent : CO_TRY(co_await snapshot_.extents(inode, std::move(node)))) {
      if (extent.is_hole()) continue;
      if (extent.linked) co_return no_copy_of(*extent.linked);
      batch_bytes_ += extent.stored;
      batch_.push_back(std::move(extent));
      if (batch_bytes_ >= kWarmedBatch) CO_TRY(co_await bring_batch());
    }
    co_return {};
  }

  // What readers have brought is there in ranges of theirs.
  Async<void> bring_batch() {
    batch_bytes_ = 0;
    std::vector<Extent> missing;
    for (Extent& extent : std::exchange(batch_, {})) {
      const ObjectRange range{extent.pack, extent.offset, extent.stored};
      if (cache_.has(key_, range)) {
        CO_TRY(want(range));
      } else {
        missing.push_back(std::move(extent));
      }
    }
    for (const Fetch& fetch : plan_fetches(missing, kWarmedRange)) {
      CO_TRY(want(fetch.range));
    }
    co_return co_await bring_missing();
  }

  // Files that share chunks want the same ranges.
  Result<void> want(const ObjectRange& range) {
    if (wanted_.covers(range)) return {};
    const std::optional<CacheSlot> slot = cache_.find(key_, range);
    if (!slot) missing_.push_back(range);
    const ObjectRange& kept = slot ? slot->range : range;
    done_.bytes += wanted_.add(kept);
    const auto bytes = static_cast<std::uint64_t>(done_.bytes);
    if (cache_.has_room(wanted_.all().size(), bytes, kWarmedRange)) return {};
    return has_no_room();
  }

  Error has_no_room() const {
    const Bytes room = Bytes::count(static_cast<std::int64_t>(cache_.room(kWarmedRange)));
    return Error(Errc::kInvalid, "the cache holds " + to_string(room) +
                                     ", or less where files lie in many places, and these files " +
                                     "have more: what came first would go again")
        .with_field("cache-size")
        .with_value(to_string(room))
        .with_hint("give it more, or name a path");
  }

  Async<void> bring_missing() {
    CO_TRY(stop_.check());
    std::vector<Async<void>> fetches;
    for (const ObjectRange& range : std::exchange(missing_, {})) {
      fetches.push_back(bring(range));
      if (fetches.size() < kWarmedAtOnce) continue;
      CO_TRY(co_await async::when_all(loop_, std::exchange(fetches, {})));
    }
    CO_TRY(co_await async::when_all(loop_, std::move(fetches)));
    CO_TRY(co_await cache_.settle(stop_));
    if (cache_.failed()) co_return *cache_.failed();
    if (progress_) progress_(done_);
    co_return {};
  }

  Async<void> bring(ObjectRange range) {
    const auto bytes = std::make_shared<env::AlignedBytes>(range.length);
    CO_TRY(co_await volume_.ranges().read(range, bytes->span(), stop_));
    done_.fetched += static_cast<std::int64_t>(range.length);
    // Others that come at the same time have room beside it, once what waited is written.
    while (!cache_.keep(key_, range, bytes, DiskCache::Waits::kYes) && cache_.is_writing()) {
      CO_TRY(co_await cache_.settle(stop_));
    }
    co_return {};
  }

  // Notes what is missing.
  bool is_whole() {
    missing_.clear();
    for (const auto& [start, range] : wanted_.all()) {
      if (!cache_.find(key_, range)) missing_.push_back(range);
    }
    return missing_.empty();
  }

  Async<void> bring_what_went() {
    for (int round = 0; round < kRoundsMax; ++round) {
      if (is_whole()) co_return {};
      CO_TRY(co_await bring_missing());
    }
    if (is_whole()) co_return {};
    co_return Error(Errc::kFull, "the cache does not keep all of these files")
        .with_field("cache")
        .with_hint("give it more with --cache-size, or another folder");
  }

  async::EventLoop& loop_;
  Volume& volume_;
  Snapshot& snapshot_;
  WalkedFolders walked_;
  DiskCache& cache_;
  const VolumeKey key_;
  const WarmUpProgress progress_;
  const async::StopToken stop_;
  std::vector<Inode> folders_;  // That are still to be looked into.
  std::vector<Extent> batch_;
  std::uint64_t batch_bytes_ = 0;
  RangeSet wanted_;                   // What the cache is to have at the end,
  std::vector<ObjectRange> missing_;  // and has not yet.
  WarmUp done_;
};

Async<WarmUp> warm_up_snapshot(async::EventLoop& loop, Volume& volume, Snapshot& snapshot,
                               std::string path, DiskCache& cache, WarmUpProgress progress,
                               async::StopToken stop) {
  WarmingUp warming(loop, volume, snapshot, cache, std::move(progress), std::move(stop));
  co_return co_await warming.run(std::move(path));
}

}  // namespace

Async<WarmUp> warm_up(async::EventLoop& loop, Volume& volume, std::string version, std::string path,
                      DiskCache& cache, WarmUpProgress progress, async::StopToken stop) {
  Snapshot snapshot = CO_TRY(
      co_await volume.begin_reading(volume.processes().this_one("warmup"), std::move(version)));
  WarmUp done = CO_TRY(co_await with_session<WarmUp>(
      loop, volume, [] { return std::set<std::string>(); },
      [&](async::StopToken token) {
        return warm_up_snapshot(loop, volume, snapshot, std::move(path), cache, std::move(progress),
                                std::move(token));
      },
      std::move(stop)));
  done.version = snapshot.manifest().version;
  co_return done;
}

}  // namespace runnel::volume
