#include "volume/testing/branch_writer.h"

#include <set>
#include <utility>

#include "async/worker.h"
#include "volume/branch_session.h"
#include "volume/chunk_packs.h"

namespace runnel::volume::testing {
namespace {

Async<Volume> open(MemoryVolume& data, const Processes& processes) {
  VolumeContext context{data.store(), env::real_clock(), data.random(), {}};
  VolumeContext named{context.store,  context.clock, context.random, {},
                      context.others, processes,     context.memory};
  co_return CO_TRY(co_await Volume::open(named, "data"));
}

Edit& entry_at(Edit& edit, const std::string& path) {
  std::vector<std::string> parts = MUST(path_parts(path));
  const std::string name = parts.back();
  return folder_at(edit, parent_path(std::move(parts)), {}).entries[name];
}

}  // namespace

BranchWriter::BranchWriter(MemoryVolume& data, const std::string& name, const Processes& processes,
                           std::int64_t term)
    : data_(data), volume_(data.run(open(data, processes))) {
  data_.run(begin_branch(volume_, {.name = name, .term = term}));
}

void BranchWriter::link(const std::string& path, const std::string& target) {
  Edit& entry = entry_at(edit_, path);
  entry.node.kind = NodeKind::kLink;
  entry.node.target = target;
  entry.exact = true;
}

void BranchWriter::remove(const std::string& path) { entry_at(edit_, path).gone = true; }

Result<Manifest> BranchWriter::try_publish(bool sealed) {
  return data_.try_run(publish_contents(*data_.loop(), volume_, std::exchange(written_, {}),
                                        std::exchange(edit_, Edit::folder()), sealed));
}

namespace {

// Packs that hold the batch, all put when it returns.
Async<void> store(ChunkPacks& packs, const ReadBatch& batch, async::Worker& worker) {
  CO_TRY(co_await packs.add(batch, worker));
  co_return co_await packs.finish(worker);
}

}  // namespace

Async<Manifest> publish_contents(async::EventLoop& loop, Volume& volume, Contents written,
                                 Edit edit, bool sealed) {
  Snapshot base = CO_TRY(co_await snapshot_of_branch(volume));
  const auto worker = CO_TRY(async::Worker::create(loop, {.name = "branch-writer"}));
  ChunkPacks packs(loop, volume, base, kPackBytesTarget);
  const auto source = source_of_contents(written);
  const ReadBatch batch = MUST(source->next());
  CHECK(batch.is_last, "more is written than a batch has");
  const Result<void> stored = co_await store(packs, batch, *worker);
  MUST(co_await packs.close());
  MUST(co_await worker->stop());
  CO_TRY(Result<void>(stored));
  for (const ReadEntry& read : batch.entries) {
    Edit& entry = entry_at(edit, path_text(read.path));
    entry.node = read.node;
    entry.exact = read.node.kind == NodeKind::kFile;
    for (const ReadChunk& chunk : read.chunks) entry.node.extents.push_back(packs.extent_of(chunk));
    packs.name(entry.node.extents);
  }
  const NewChunks chunks = packs.take_new();
  co_return co_await publish_in_branch(volume, edit, chunks, packs.stored(), sealed);
}

Result<void> BranchWriter::try_beat() {
  return data_.try_run(volume_.keep_session([] { return std::set<std::string>(); }));
}

Contents BranchWriter::contents() { return data_.contents(data_.run(snapshot_of_branch(volume_))); }

}  // namespace runnel::volume::testing
