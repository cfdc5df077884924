#include "volume_sim/cache_schedule.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/event_loop.h"
#include "async/gate.h"
#include "async/virtual/process.h"
#include "base/agenda.h"
#include "base/check.h"
#include "base/split_mix.h"
#include "hash/xxh3.h"
#include "volume/disk_cache.h"
#include "volume_sim/cache_disk.h"

namespace runnel::volume_sim {
namespace {

using volume::CacheMap;
using volume::CacheSlot;
using volume::ObjectRange;

constexpr int kObjects = 40;
constexpr int kLives = 3;
constexpr int kStepsOfALife = 6'000;

constexpr std::uint64_t kPartsOfAnObject = 16;
constexpr std::uint64_t kBetweenParts = 3'000;
constexpr std::uint64_t kLongest = 500 * kDiskPage;

// Objects have bytes of one table, each from another place on.
std::string_view content_of(const ObjectRange& range) {
  constexpr std::uint64_t kBetweenObjects = 977;
  static const std::string kTable = [] {
    SplitMix64 bytes(1);
    std::string made(kBetweenObjects * (kObjects + 1) + kPartsOfAnObject * kBetweenParts + kLongest,
                     '\0');
    for (char& byte : made) byte = static_cast<char>(bytes.next());
    return made;
  }();
  const auto object = static_cast<unsigned char>(range.object.bytes[0]);
  return std::string_view(kTable).substr(object * kBetweenObjects + range.offset, range.length);
}

std::shared_ptr<env::AlignedBytes> copy_of(std::string_view content) {
  auto bytes = std::make_shared<env::AlignedBytes>(content.size());
  std::copy(content.begin(), content.end(), bytes->room().begin());
  return bytes;
}

// The cache, its disk and who uses it.
class CacheSchedule {
 public:
  explicit CacheSchedule(std::uint64_t seed)
      : dice_(seed), disk_(static_cast<std::uint32_t>(2 + pick(3))) {}

  CacheOutcome run() {
    for (int life = 0; life < kLives && outcome_.violation.empty(); ++life) live();
    outcome_.begun = disk_.begun();
    outcome_.flips = disk_.flipped();
    return std::move(outcome_);
  }

 private:
  std::int64_t pick(std::int64_t count) {
    return static_cast<std::int64_t>(dice_.next() % static_cast<std::uint64_t>(count));
  }
  bool chance(int percent) { return pick(100) < percent; }

  // One process, to its end.
  void live() {
    // A read of the disk may take longer than it takes to fill some segments.
    const auto latency = [this](std::string_view thread) {
      return Duration::millis(thread == "cache-read" && pick(300) == 0 ? pick(2'500) : pick(2));
    };
    async::VirtualProcess* process = nullptr;
    async::EventLoop loop([&] {
      auto made = std::make_unique<async::VirtualProcess>(
          agenda_, async::VirtualOptions{dice_.next(), latency});
      process = made.get();
      return made;
    }());
    async::Gate gate(loop);
    loop_ = &loop;
    has_ended_ = false;
    MUST(loop.spawn(gate, use()));
    while (!has_ended_ && !disk_.is_killed()) agenda_.step();
    if (has_ended_) return;
    ++outcome_.kills;
    const bool ended = process->run_out([] {}, [&] { return has_ended_ && gate.inside() == 0; });
    CHECK(ended, "a process that was killed does not come to its end");
  }

  Async<void> use() {
    auto opened = co_await volume::DiskCache::open_over(
        *loop_, [this]() -> Result<std::unique_ptr<volume::CacheFiles>> { return disk_.open(); });
    CHECK(opened.ok(), "segments that are there cannot be opened");
    const std::unique_ptr<volume::DiskCache> cache = std::move(opened).value();
    cache_ = cache.get();
    async::Gate reads(*loop_);
    for (int step = 0; step < kStepsOfALife && goes_on(); ++step) {
      act(reads);
      if (chance(30)) CO_TRY(co_await loop_->sleep(Duration::millis(pick(4))));
      if (pick(500) == 0) CO_TRY(co_await cache->settle());
    }
    disk_.set_failing(false);
    CO_TRY(co_await reads.close());
    CO_TRY(co_await cache->close());
    has_ended_ = true;
    co_return {};
  }

  bool goes_on() const { return outcome_.violation.empty() && !disk_.is_killed(); }

  void act(async::Gate& reads) {
    if (pick(2'000) == 0) return mishap();
    const std::int64_t what = pick(100);
    if (what < 60) return keep();
    if (what < 99) return MUST(loop_->spawn(reads, serve(any_wanted())));
    drop();
  }

  volume::VolumeKey volume_of(const ObjectRange& range) const {
    volume::VolumeKey key{};
    key.fill(static_cast<char>('a' + range.object.bytes[0] % 3));
    return key;
  }

  // Most are short, so that the table of a segment is full before its room is.
  ObjectRange any_range() {
    ObjectRange range;
    range.object.bytes.fill(static_cast<char>(1 + pick(kObjects)));
    range.offset = static_cast<std::uint64_t>(pick(kPartsOfAnObject)) * kBetweenParts;
    const std::int64_t most = static_cast<std::int64_t>(chance(2) ? kLongest : 2 * kDiskPage);
    range.length = static_cast<std::uint64_t>(1 + pick(most));
    return range;
  }

  void keep() {
    const ObjectRange range = any_range();
    if (cache_->keep(volume_of(range), range, copy_of(content_of(range)))) ++outcome_.kept;
    if (cache_->bytes() > cache_->room(0))
      outcome_.violation = "the cache has more bytes than it may";
  }

  // A slot is read in the turn in which it is found, or its segment may be emptied between.
  Async<void> serve(ObjectRange wanted) {
    const std::optional<CacheSlot> slot = cache_->find(volume_of(wanted), wanted);
    if (!slot) co_return {};
    if (!slot->range.covers(wanted)) {
      outcome_.violation = "a slot has not all of the range that was asked for";
      co_return {};
    }
    const std::uint64_t skip = (wanted.offset - slot->range.offset) / kDiskPage * kDiskPage;
    ObjectRange part = slot->range;
    part.offset += skip;
    part.length = wanted.end() - part.offset;
    const auto bytes = co_await cache_->read(*slot, part);
    if (!bytes.ok() || disk_.is_killed()) co_return {};
    ++outcome_.served;
    outcome_.hash = hash::xxh3(std::to_string(outcome_.hash) + std::string((*bytes)->view()));
    if ((*bytes)->view() == content_of(part) || disk_.flipped() > 0) co_return {};
    outcome_.violation = "a slot of segment " + std::to_string(slot->segment) + " at " +
                         std::to_string(slot->place) + " has other bytes than were kept";
    co_return {};
  }

  ObjectRange any_wanted() {
    ObjectRange wanted = any_range();
    wanted.length = std::min<std::uint64_t>(wanted.length, 100);
    return wanted;
  }

  void drop() {
    const ObjectRange range = any_range();
    const std::optional<CacheSlot> slot = cache_->find(volume_of(range), range);
    if (slot) cache_->drop(*slot);
  }

  void mishap() {
    if (chance(30)) return disk_.kill_after(1 + pick(40));
    if (chance(40)) return disk_.set_failing(chance(50));
    // Nothing is to be written over a segment that could not be emptied.
    if (chance(10)) return disk_.fail_write_of(CacheMap::kTableBytes);
    if (chance(60)) return disk_.set_full(chance(50));
    if (chance(20)) disk_.flip_a_bit(dice_);
  }

  SplitMix64 dice_;
  Agenda agenda_;
  CacheDisk disk_;
  CacheOutcome outcome_;
  async::EventLoop* loop_ = nullptr;    // The process's,
  volume::DiskCache* cache_ = nullptr;  // and its cache.
  bool has_ended_ = false;
};

}  // namespace

CacheOutcome run_cache_schedule(std::uint64_t seed) { return CacheSchedule(seed).run(); }

}  // namespace runnel::volume_sim
