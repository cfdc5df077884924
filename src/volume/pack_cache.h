#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "volume/disk_cache.h"
#include "volume/node.h"
#include "volume/pack_server.h"
#include "volume/range_reader.h"
#include "volume/reader_memory.h"
#include "volume/stored_ranges.h"

namespace runnel::volume {

// What became of the ranges that were asked for.
struct PackCacheCounts {
  std::int64_t fetches = 0;     // Requests to the store, or to who asks it for all,
  std::int64_t bytes = 0;       // and what they brought.
  std::int64_t disk_reads = 0;  // Of a cache on the local disk,
  std::int64_t disk_bytes = 0;  // and what they brought.
  std::int64_t distrusted = 0;  // Ranges that were not what they were to be, and fetched again.
};

// Ranges of a volume's packs in memory, brought from a cache on the local disk or the store when
// they are asked for or expected.
//
// Contract: what is on its way is not asked for again, and what somebody waits for goes before what
//           is only expected. Nothing is checked here: who reads knows the sums, and calls
//           read_anew() for what is wrong. Of linked objects, which have no sums, nothing is on the
//           disk: nobody could see what it has changed.
// Threads:  the loop's only.
// Lifetime: loop, disk, server and what `ranges` reads from outlive it. close() is awaited before
//           destruction, when nobody is in read().
// Limits:   the memory's budget of packs; half as many bytes are expected at a time, and more are
//           passed over.
class PackCache {
 public:
  static constexpr int kRequestsMax = 8;  // Of each reader, and
  static constexpr int kRequestsOfAll = 32;
  // Of what is on the disk this much is read at once, around what is wanted.
  static constexpr std::uint64_t kDiskWindow = 1 << 20;

  struct Options {
    std::shared_ptr<ReaderMemory> memory;
    DiskCache* disk = nullptr;     // None: there is none.
    VolumeKey volume{};            // What the volume is called there.
    PackServer* server = nullptr;  // Asked before the store; none: only that is.
  };
  PackCache(async::EventLoop& loop, RangeReader ranges, Options options,
            const async::StopToken& stop);

  // The bytes of `wanted`; when they are nowhere here, all of `with` is fetched, which has them.
  // Who stops waiting, by `stop`, leaves it to others.
  Async<HeldBytes> read(ObjectRange wanted, ObjectRange with, Urgency urgency = Urgency::kWaitedFor,
                        async::StopToken stop = {});
  // Whether they are in memory, on their way, or on the disk.
  bool has(const ObjectRange& wanted) const;
  // Whether they are in memory or on their way.
  bool is_near(const ObjectRange& wanted) const;
  // They will be read by the reader of this file.
  void expect(const ObjectRange& range, Inode file);
  // What the file's reader expects and what is not on its way yet is not brought.
  void forget(Inode file);
  // What is here of it, or on its way, is wrong: the store is asked.
  Async<HeldBytes> read_anew(ObjectRange range, async::StopToken stop = {});
  // So many processes and mounts read by it, one unless it is said.
  void set_readers(int count);
  Async<void> close();

  ReaderMemory& memory() { return *options_.memory; }
  std::uint64_t bytes() const { return ranges_.bytes(); }
  const PackCacheCounts& counts() const { return counts_; }

 private:
  static constexpr Inode kSomebodyWaits = 0;
  static constexpr Inode kFileOfAnother = ~Inode{0};  // Of another process.

  // A range that is to be in memory.
  struct Request {
    ObjectRange range;
    std::optional<CacheSlot> slot;  // On the disk; else in the store.
    Inode file = kSomebodyWaits;    // By whose reader it is expected.
    HeldBytes bytes;
    std::optional<Error> error;
    bool ended = false;
  };
  void distrust(const ObjectRange& range);
  void keep(const ObjectRange& range, const HeldBytes& bytes);
  bool goes_to_disk(const ObjectRange& range) const;

  using RequestPtr = std::shared_ptr<Request>;
  using Requests = std::list<RequestPtr>;

  RequestPtr on_its_way(const ObjectRange& wanted) const;
  RequestPtr make_request(const ObjectRange& wanted, const ObjectRange& with);
  void prefer(const RequestPtr& request);
  Requests::iterator behind_waited();  // The first that is only expected.
  void begin_some();
  Async<void> bring(RequestPtr request);
  Async<HeldBytes> bytes_of(RequestPtr request);
  Async<HeldBytes> fetch(ObjectRange range, PackServer::Wish wish, async::StopToken stop);
  Async<void> fetch_into(ObjectRange range, std::span<char> into, PackServer::Wish wish,
                         async::StopToken stop);

  async::EventLoop& loop_;
  const RangeReader reader_;
  const Options options_;
  async::StopSource stop_;
  async::Gate bringing_;
  async::Notifier ended_;
  StoredRanges ranges_;
  Requests waiting_;  // For their turn, in this order.
  Requests under_way_;
  std::size_t requests_max_ = kRequestsMax;
  std::uint64_t expected_bytes_ = 0;  // Of all requests.
  PackCacheCounts counts_;
};

}  // namespace runnel::volume
