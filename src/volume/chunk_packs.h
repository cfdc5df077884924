#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/worker.h"
#include "volume/edit.h"
#include "volume/pack.h"
#include "volume/snapshot.h"
#include "volume/source_tree.h"
#include "volume/volume.h"

namespace runnel::volume {

// Stores the chunks of files in packs, while packs before are on their way to the store.
//
// Contract: what the base has, and what was stored here before, is not stored again, nor are packs
//           that an interrupted process has put under the same session. Until finish() packs have
//           provisional names; name() changes these.
// Threads:  the loop's; chunks are compressed and packed on `worker`.
// Lifetime: volume, base and worker outlive it. close() is awaited before destruction.
class ChunkPacks {
 public:
  ChunkPacks(async::EventLoop& loop, Volume& volume, Snapshot& base, std::uint64_t pack_bytes);

  // Looks for packs that were put under the volume's session before it was interrupted.
  Async<void> find_earlier();
  // Stores the chunks of the batch.
  Async<void> add(const ReadBatch& batch, async::Worker& worker);
  // All that was added is in the store afterwards.
  Async<void> finish(async::Worker& worker);
  Async<void> close();

  // Of a chunk that was added: where it is, or a hole.
  Extent extent_of(const ReadChunk& chunk) const;
  // After finish(): the names that the packs have.
  void name(std::vector<Extent>& extents) const;
  // After finish(): the chunks that the base has not.
  NewChunks take_new();

  // The packs that it refers to, as far as they are put.
  std::set<std::string> keys_in_use() const;
  std::int64_t stored() const { return stored_; }  // Bytes of packs that were put,
  std::int64_t reused() const { return reused_; }  // and of those that were there.

 private:
  static constexpr int kPacksUnderWay = 3;

  // A chunk to be packed, in the bytes of its batch.
  struct Fresh {
    hash::Digest hash{};
    std::string_view bytes;
  };
  // A pack that is whole, with what it was called before.
  struct WholePack {
    ObjectId before;
    std::string bytes;
  };
  // A pack that an interrupted process has put.
  struct EarlierPack {
    ObjectId id;
    std::int64_t bytes = 0;
  };

  // Fills packs one after another.
  class Packing {
   public:
    explicit Packing(std::uint64_t bytes) : pack_bytes_(bytes) {}

    // The extents of the chunks, in order.
    std::vector<Extent> add(const std::vector<Fresh>& chunks);
    void close();
    std::vector<WholePack> take_whole() { return std::exchange(whole_, {}); }

   private:
    const std::uint64_t pack_bytes_;
    PackBuilder builder_;
    std::uint64_t number_ = 1;
    std::vector<WholePack> whole_;
  };

  Async<std::vector<Fresh>> unknown_chunks(const ReadBatch& batch);
  Async<void> upload_whole();
  Async<void> upload(ObjectId id, std::string bytes);
  std::optional<ObjectId> earlier_pack(std::string_view bytes) const;

  async::EventLoop& loop_;
  Volume& volume_;
  Snapshot& base_;
  Packing packing_;                           // The worker's.
  NewChunks fresh_;                           // Packed here.
  std::map<hash::Digest, Extent> known_;      // Found in the base.
  std::map<ObjectId, ObjectId> ids_;          // Of packs, by what they were called before.
  std::map<std::string, EarlierPack> there_;  // By the hashes in their names.
  async::Gate uploads_;
  async::Notifier uploaded_;
  int under_way_ = 0;
  std::optional<Error> failed_;
  std::int64_t stored_ = 0;
  std::int64_t reused_ = 0;
};

}  // namespace runnel::volume
