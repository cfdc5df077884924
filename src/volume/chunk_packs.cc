#include "volume/chunk_packs.h"

#include <algorithm>

#include "base/check.h"
#include "volume/compression.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

// What a pack is called until it is whole: extents of its chunks are changed to its id at the end.
ObjectId provisional_id(std::uint64_t number) {
  std::string bytes(ObjectId::kBytes - sizeof number, '\0');
  append_u64be(bytes, number);
  ObjectId id;
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

}  // namespace

// --- On the worker.

std::vector<Extent> ChunkPacks::Packing::add(const std::vector<Fresh>& chunks) {
  std::vector<Extent> extents;
  extents.reserve(chunks.size());
  for (const Fresh& chunk : chunks) {
    const std::optional<std::string> frame = compressed(chunk.bytes);
    const std::string_view stored = frame ? std::string_view(*frame) : chunk.bytes;
    Extent extent =
        builder_.add(chunk.hash, stored, chunk.bytes.size(), frame ? Codec::kZstd : Codec::kRaw);
    extent.pack = provisional_id(number_);
    extents.push_back(std::move(extent));
    if (builder_.bytes() >= pack_bytes_) close();
  }
  return extents;
}

void ChunkPacks::Packing::close() {
  if (builder_.count() == 0) return;
  whole_.push_back({provisional_id(number_++), builder_.finish()});
}

// --- On the loop.

ChunkPacks::ChunkPacks(async::EventLoop& loop, Volume& volume, Snapshot& base,
                       std::uint64_t pack_bytes)
    : loop_(loop),
      volume_(volume),
      base_(base),
      packing_(pack_bytes),
      uploads_(loop),
      uploaded_(loop) {}

Async<void> ChunkPacks::find_earlier() {
  for (const auto& [key, size] : CO_TRY(co_await volume_.session().own_objects("p/"))) {
    const ObjectId id = CO_TRY(ObjectId::parse(key.substr(2)));
    there_.emplace(id.hash(), EarlierPack{id, size});
  }
  co_return {};
}

Async<void> ChunkPacks::add(const ReadBatch& batch, async::Worker& worker) {
  const std::vector<Fresh> fresh = CO_TRY(co_await unknown_chunks(batch));
  const std::vector<Extent> extents =
      CO_TRY(co_await worker.run([this, &fresh] { return packing_.add(fresh); }));
  for (std::size_t index = 0; index < fresh.size(); ++index) {
    fresh_[fresh[index].hash] = extents[index];
  }
  co_return co_await upload_whole();
}

Async<void> ChunkPacks::finish(async::Worker& worker) {
  CO_TRY(co_await worker.run([this] { packing_.close(); }));
  CO_TRY(co_await upload_whole());
  while (under_way_ > 0) CO_TRY(co_await uploaded_.wait());
  if (failed_) co_return *failed_;
  for (auto& [digest, extent] : fresh_) extent.pack = ids_.at(extent.pack);
  co_return {};
}

Async<void> ChunkPacks::close() { return uploads_.close(); }

// Chunks that neither the base nor this has yet, each once.
Async<std::vector<ChunkPacks::Fresh>> ChunkPacks::unknown_chunks(const ReadBatch& batch) {
  std::vector<Fresh> fresh;
  std::set<hash::Digest> now;
  for (const ReadEntry& entry : batch.entries) {
    for (const ReadChunk& chunk : entry.chunks) {
      if (chunk.is_hole) continue;
      if (fresh_.contains(chunk.hash) || known_.contains(chunk.hash)) continue;
      if (now.contains(chunk.hash)) continue;
      std::optional<Extent> there = CO_TRY(co_await base_.chunk(chunk.hash));
      if (there) {
        known_.emplace(chunk.hash, *std::move(there));
        continue;
      }
      now.insert(chunk.hash);
      fresh.push_back(
          {chunk.hash, std::string_view(batch.bytes).substr(chunk.begin, chunk.length)});
    }
  }
  co_return fresh;
}

Async<void> ChunkPacks::upload_whole() {
  for (WholePack& pack : packing_.take_whole()) {
    while (under_way_ >= kPacksUnderWay) CO_TRY(co_await uploaded_.wait());
    if (failed_) co_return *failed_;
    if (const std::optional<ObjectId> there = earlier_pack(pack.bytes)) {
      ids_[pack.before] = *there;
      reused_ += std::ssize(pack.bytes);
      continue;
    }
    const ObjectId id = volume_.new_object_id(pack.bytes);
    ids_[pack.before] = id;
    ++under_way_;
    CO_TRY(loop_.spawn(uploads_, upload(id, std::move(pack.bytes))));
  }
  co_return {};
}

Async<void> ChunkPacks::upload(ObjectId id, std::string bytes) {
  const std::int64_t size = std::ssize(bytes);
  const Result<void> put = co_await volume_.put_object(pack_key(id), std::move(bytes));
  --under_way_;
  if (put.ok()) {
    stored_ += size;
  } else if (!failed_) {
    failed_ = put.error();
  }
  uploaded_.notify_all();
  co_return {};
}

// The one with these bytes that an interrupted process has put.
std::optional<ObjectId> ChunkPacks::earlier_pack(std::string_view bytes) const {
  if (there_.empty()) return std::nullopt;  // Its bytes need not be hashed to tell.
  const ObjectId same = ObjectId::of(bytes, std::string(ObjectId::kBytes / 2, '\0'));
  const auto found = there_.find(std::string(same.hash()));
  if (found == there_.end() || found->second.bytes != std::ssize(bytes)) return std::nullopt;
  return found->second.id;
}

Extent ChunkPacks::extent_of(const ReadChunk& chunk) const {
  if (chunk.is_hole) return hole_of(chunk.length);
  const auto fresh = fresh_.find(chunk.hash);
  return fresh != fresh_.end() ? fresh->second : known_.at(chunk.hash);
}

void ChunkPacks::name(std::vector<Extent>& extents) const {
  for (Extent& extent : extents) {
    const auto named = ids_.find(extent.pack);
    if (named != ids_.end()) extent.pack = named->second;
  }
}

NewChunks ChunkPacks::take_new() { return std::exchange(fresh_, {}); }

std::set<std::string> ChunkPacks::keys_in_use() const {
  std::set<std::string> keys;
  for (const auto& [before, id] : ids_) keys.insert(pack_key(id));
  for (const auto& [hash, pack] : there_) keys.insert(pack_key(pack.id));
  for (const auto& [hash, extent] : known_) keys.insert(pack_key(extent.pack));
  return keys;
}

}  // namespace runnel::volume
