#include "volume/warm_up.h"

#include <memory>
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
// All of a batch waits to be written at the same time.
constexpr std::uint64_t kWarmedBatch = DiskCache::kWritingMax / 2;

Error no_copy_of(const LinkedObject& object) {
  const std::string name = object.store + "/" + object.key;
  return Error(Errc::kUnsupported,
               "a cache on the disk keeps no objects of other buckets, such as " + name)
      .with_value(name)
      .with_hint("pack them first: runnel volume cp, into another volume");
}

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
    co_return done_;
  }

 private:
  Async<void> take_folder(Inode folder) {
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

  Async<void> bring_batch() {
    CO_TRY(stop_.check());
    batch_bytes_ = 0;
    std::vector<Async<void>> fetches;
    for (const Fetch& fetch : plan_fetches(std::exchange(batch_, {}), kWarmedRange)) {
      CO_TRY(count(fetch.range.length));
      if (cache_.has(key_, fetch.range)) continue;
      fetches.push_back(bring(fetch.range));
      if (fetches.size() < kWarmedAtOnce) continue;
      CO_TRY(co_await async::when_all(loop_, std::exchange(fetches, {})));
    }
    CO_TRY(co_await async::when_all(loop_, std::move(fetches)));
    CO_TRY(co_await cache_.settle());
    if (cache_.failed()) co_return *cache_.failed();
    if (progress_) progress_(done_);
    co_return {};
  }

  Result<void> count(std::uint64_t bytes) {
    done_.bytes += static_cast<std::int64_t>(bytes);
    const Bytes room = Bytes::count(static_cast<std::int64_t>(cache_.room(kWarmedRange)));
    if (Bytes::count(done_.bytes) <= room) return {};
    return Error(Errc::kInvalid, "the cache holds " + to_string(room) +
                                     ", and these files have more: what came first would go again")
        .with_field("cache-size")
        .with_value(to_string(room))
        .with_hint("give it more, or name a path");
  }

  Async<void> bring(ObjectRange range) {
    const auto bytes = std::make_shared<env::AlignedBytes>(range.length);
    CO_TRY(co_await volume_.ranges().read(range, bytes->span(), stop_));
    done_.fetched += static_cast<std::int64_t>(range.length);
    cache_.keep(key_, range, bytes);
    co_return {};
  }

  async::EventLoop& loop_;
  Volume& volume_;
  Snapshot& snapshot_;
  DiskCache& cache_;
  const VolumeKey key_;
  const WarmUpProgress progress_;
  const async::StopToken stop_;
  std::vector<Inode> folders_;  // That are still to be looked into.
  std::vector<Extent> batch_;
  std::uint64_t batch_bytes_ = 0;
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
  Snapshot snapshot =
      CO_TRY(co_await volume.begin_reading(session_of_this_process("warmup"), std::move(version)));
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
