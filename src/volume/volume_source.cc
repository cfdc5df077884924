#include "volume/volume_source.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kEntriesOfLevel = 4'096;

void add_chunk(ReadBatch& batch, ReadEntry& entry, std::string_view chunk) {
  entry.chunks.push_back({hash::sha256(chunk), batch.bytes.size(), chunk.size()});
  batch.bytes += chunk;
}

}  // namespace

VolumeSource::VolumeSource(async::EventLoop& loop, Volume& volume, Snapshot& snapshot,
                           Snapshot::Found found, std::string name, async::StopToken stop)
    : snapshot_(snapshot), stop_(stop), reader_(loop, volume.ranges(), std::move(stop)) {
  if (found.node.kind == NodeKind::kFolder) {
    levels_.push_back({found.inode, "", {}, 0});
    root_ = std::move(found.node);
    return;
  }
  // As the one entry of a folder.
  Level only;
  only.entries.push_back({std::move(name), {found.inode, found.node.kind}});
  levels_.push_back(std::move(only));
}

Async<ReadBatch> VolumeSource::next(async::Worker& worker) {
  Wanted wanted = CO_TRY(co_await gather());
  std::vector<Result<std::string>> chunks = CO_TRY(co_await reader_.read(wanted.extents));
  co_return co_await worker.run(
      [this, &wanted, &chunks] { return batch_of(std::move(wanted), std::move(chunks)); });
}

// --- What comes next.

Async<VolumeSource::Wanted> VolumeSource::gather() {
  Wanted wanted;
  while (wanted.bytes < SourceTree::kBatchBytes &&
         wanted.parts.size() < SourceTree::kBatchEntries) {
    CO_TRY(stop_.check());
    if (rest_) {
      take_rest(wanted);
    } else if (!CO_TRY(co_await gather_next(wanted))) {
      wanted.is_last = true;
      break;
    }
  }
  co_return wanted;
}

// False when there is nothing more.
Async<bool> VolumeSource::gather_next(Wanted& wanted) {
  while (!levels_.empty() && levels_.back().next == levels_.back().entries.size()) {
    Level& level = levels_.back();
    if (level.inode != 0) {
      level.entries = CO_TRY(co_await snapshot_.list(level.inode, level.after, kEntriesOfLevel));
      level.next = 0;
    }
    if (level.inode == 0 || level.entries.empty()) {
      levels_.pop_back();
      if (!path_.empty()) path_.pop_back();
    } else {
      level.after = level.entries.back().name;
    }
  }
  if (levels_.empty()) co_return false;
  const Snapshot::Entry entry = levels_.back().entries[levels_.back().next++];
  path_.push_back(entry.name);
  Node node = CO_TRY(co_await snapshot_.node(entry.what.inode));
  const NodeKind kind = node.kind;
  if (kind == NodeKind::kFile) {
    CO_TRY(co_await take(entry.what.inode, std::move(node)));
  } else {
    wanted.parts.push_back({{path_, std::move(node), {}, {}}, 0});
  }
  if (kind == NodeKind::kFolder) {
    CO_TRY(walked_.enter(entry.what.inode));
    levels_.push_back({entry.what.inode, "", {}, 0});
  } else {
    path_.pop_back();
  }
  co_return true;
}

Async<void> VolumeSource::take(Inode inode, Node node) {
  std::vector<Extent> extents = CO_TRY(co_await snapshot_.extents(inode, node));
  node.extents.clear();
  const bool is_object = is_linked(extents);
  rest_.emplace(
      Rest{{path_, std::move(node), {}, {}}, in_pieces(std::move(extents)), 0, is_object});
  co_return {};
}

// As much of the file as the batch has room for.
void VolumeSource::take_rest(Wanted& wanted) {
  Rest& rest = *rest_;
  Part part{rest.entry, 0, rest.is_linked};
  part.entry.is_first = rest.next == 0;
  while (rest.next < rest.extents.size() && wanted.bytes < SourceTree::kBatchBytes) {
    wanted.bytes += rest.extents[rest.next].length;
    wanted.extents.push_back(std::move(rest.extents[rest.next++]));
    ++part.extents;
  }
  part.entry.is_whole = rest.next == rest.extents.size();
  if (part.entry.is_whole) rest_.reset();
  wanted.parts.push_back(std::move(part));
}

// --- On the thread.

Result<ReadBatch> VolumeSource::batch_of(Wanted wanted, std::vector<Result<std::string>> chunks) {
  CHECK(chunks.size() == wanted.extents.size(), "each extent has its chunk");
  ReadBatch batch;
  batch.is_last = wanted.is_last;
  batch.bytes.reserve(wanted.bytes);
  auto chunk = chunks.begin();
  auto extent = wanted.extents.cbegin();
  for (Part& part : wanted.parts) {
    if (part.entry.is_first) hash_ = FileHash();
    for (; part.extents > 0; --part.extents, ++chunk, ++extent) {
      if (extent->is_hole()) {
        hash_.add_zeros(extent->length);
        part.entry.chunks.push_back({.length = extent->length, .is_hole = true});
        continue;
      }
      if (!chunk->ok()) {
        Error error = chunk->error();
        error.message = path_text(part.entry.path) + ": " + error.message;
        return error;
      }
      hash_.add(**chunk);
      add_chunk(batch, part.entry, **chunk);
    }
    const bool ends = part.entry.node.kind == NodeKind::kFile && part.entry.is_whole;
    if (ends && part.is_linked) part.entry.node.hash = hash_.finish();  // Read for the first time.
    if (ends && !part.is_linked) TRY(check_whole(part.entry));
    batch.entries.push_back(std::move(part.entry));
  }
  return batch;
}

Result<void> VolumeSource::check_whole(const ReadEntry& entry) {
  const bool is_as_long = hash_.size() == entry.node.size;
  if (is_as_long && hash_.finish() == entry.node.hash) return {};
  return Error(Errc::kCorrupt,
               path_text(entry.path) + " is damaged: its bytes are not what its hash says")
      .with_value(path_text(entry.path))
      .with_hint("see what else is damaged: runnel volume fsck");
}

}  // namespace runnel::volume
