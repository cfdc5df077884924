#include "volume/file_reader.h"

#include <algorithm>
#include <utility>

#include "volume/chunk_read.h"
#include "volume/chunker.h"
#include "volume/fetch_plan.h"
#include "volume/neighbours.h"

namespace runnel::volume {
namespace {

// What has to be read of a chunk for [from, until) of it: whole blocks, all of a frame.
ObjectRange checked_range(const Extent& extent, std::uint64_t from, std::uint64_t until) {
  if (!extent.is_as_stored()) return stored_range(extent);
  const std::uint64_t begin = from / kBlockBytes * kBlockBytes;
  const std::uint64_t end = (until + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  return {extent.pack, extent.offset + begin, std::min(end, extent.stored) - begin, extent.linked};
}

// A connection of a store carries some 50 to 100 MB/s: a window is to be brought by many.
constexpr std::uint64_t kAheadPart = 4 << 20;

// The largest part when all of them are brought in parts of about the same size.
std::uint64_t even_part(const std::vector<Extent>& extents) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) bytes += extent.stored;
  const std::uint64_t parts = std::max<std::uint64_t>((bytes + kAheadPart / 2) / kAheadPart, 1);
  return bytes / parts + ChunkSizes().most;
}

HeldBytes zeros(std::uint64_t length) {
  static const HeldBytes kZeros = HeldBytes::of(std::string(kChunkBytesMax, '\0'));
  if (length <= kZeros.bytes.size()) return kZeros.part(0, length);
  return HeldBytes::of(std::string(length, '\0'));
}

}  // namespace

Async<std::vector<HeldBytes>> FileReader::read(Inode file, std::uint64_t offset,
                                               std::uint64_t length) {
  const LayoutPtr layout = CO_TRY(co_await layout_of(file));
  std::vector<HeldBytes> pieces;
  if (offset >= layout->size) co_return pieces;
  const std::uint64_t end = offset + std::min(length, layout->size - offset);
  const Span span = span_of(*layout, offset, end);
  const bool is_short = layout->extents.size() == 1;
  const bool is_alone = !is_short && look_ahead(file, *layout, offset, end - offset);
  for (std::size_t index = span.begin; index < span.end; ++index) {
    const Extent& extent = layout->extents[index];
    const std::uint64_t begin = layout->begins[index];
    std::optional<ObjectRange> with;
    if (!is_alone) with = stored_range(extent);
    // As with neighbours, that those behind cannot be known is no error of this file.
    if (is_short && extent.linked) (void)co_await expect_objects_from(file, stored_range(extent));
    if (is_short && extent.is_packed() && !cache_.has(*with)) {
      // Damage in a neighbour's part of the index is no error of this file.
      const Result<ObjectRange> more = co_await with_neighbours(snapshot_, file, extent);
      if (more.ok()) with = *more;
    }
    if (is_short && extent.is_packed() && goes_on_in_part(file, extent)) {
      (void)co_await expect_part_behind(file, extent, *with);
    }
    pieces.push_back(CO_TRY(co_await piece(extent, with, std::max(begin, offset) - begin,
                                           std::min(begin + extent.length, end) - begin)));
  }
  co_return pieces;
}

Async<FileReader::LayoutPtr> FileReader::layout_of(Inode file) {
  if (const LayoutPtr* const known = layouts_.find(file)) co_return *known;
  const Node node = CO_TRY(co_await snapshot_.node(file));
  if (node.kind != NodeKind::kFile) co_return Error(Errc::kInvalid, "what is read is no file");
  auto layout = std::make_shared<Layout>();
  layout->size = node.size;
  layout->extents = in_pieces(CO_TRY(co_await snapshot_.extents(file, node)));
  std::uint64_t begin = 0;
  for (const Extent& extent : layout->extents) {
    layout->begins.push_back(begin);
    begin += extent.length;
  }
  layouts_.keep(file, layout, layout->memory());
  co_return layout;
}

std::size_t FileReader::Layout::memory() const {
  constexpr std::size_t kEach = sizeof(Extent) + sizeof(std::uint64_t);
  std::size_t bytes = sizeof(Layout) + extents.capacity() * kEach;
  for (const Extent& extent : extents) bytes += extent.sums.capacity() * sizeof(std::uint64_t);
  return bytes;
}

FileReader::Span FileReader::span_of(const Layout& layout, std::uint64_t from,
                                     std::uint64_t until) {
  const auto& begins = layout.begins;
  const auto first = std::upper_bound(begins.begin(), begins.end(), from);
  const auto behind = std::lower_bound(begins.begin(), begins.end(), until);
  const auto begin = first == begins.begin() ? 0 : first - begins.begin() - 1;
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(behind - begins.begin())};
}

// --- What will be wanted.

bool FileReader::look_ahead(Inode file, const Layout& layout, std::uint64_t offset,
                            std::uint64_t length) {
  ReadAhead::Advice advice = ahead_.after_read(file, offset, length);
  if (advice.jumped) cache_.forget(file);
  if (advice.is_alone) return true;
  const std::uint64_t until = std::min(offset + length, layout.size);
  const Span wanted = span_of(layout, offset, until);
  const bool was_near = expect(file, layout, wanted);
  // What was told may have had to go before it was read, as when the reader has paused.
  if (advice.was_told && !was_near) advice = ahead_.tell_again(file, until);
  const std::uint64_t end = std::min(advice.end, layout.size);
  if (advice.begin < end) expect(file, layout, span_of(layout, advice.begin, end));
  return false;
}

bool FileReader::expect(Inode file, const Layout& layout, Span span) {
  bool was_near = true;
  std::vector<Extent> missing;
  for (std::size_t index = span.begin; index < span.end; ++index) {
    const Extent& extent = layout.extents[index];
    if (extent.is_hole() || cache_.is_near(stored_range(extent))) continue;
    was_near = false;
    if (cache_.has(stored_range(extent))) {
      cache_.expect(stored_range(extent), file);  // A disk is read by a window around it.
    } else {
      missing.push_back(extent);
    }
  }
  for (const Fetch& fetch : plan_fetches(missing, even_part(missing))) {
    cache_.expect(fetch.range, file);
  }
  return was_near;
}

bool FileReader::follows(Inode file, Inode last) {
  return file > last && file - last <= kFilesSkipped;
}

// Names that follow each other have inodes that do. The one that is read goes first.
Async<void> FileReader::expect_objects_from(Inode file, ObjectRange range) {
  if (!follows(file, std::exchange(last_object_, file))) co_return {};
  if (!cache_.has(range)) cache_.expect(range, file);
  const Inode begin = file + 1;
  for (const Snapshot::Stored& next :
       CO_TRY(co_await snapshot_.stored_from(begin, begin + kObjectsAhead, kObjectsAhead))) {
    for (const Extent& extent : next.extents) {
      const bool is_small = extent.linked && extent.stored <= kChunkBytesMax;
      if (is_small && !cache_.has(stored_range(extent))) {
        cache_.expect(stored_range(extent), next.inode);
      }
    }
  }
  co_return {};
}

// Who reads two files of a part in order goes on to the next part.
bool FileReader::goes_on_in_part(Inode file, const Extent& extent) {
  const Place place(extent.pack, extent.offset / kFetchBytesMax);
  InPart* const known = parts_.find(place);
  if (known == nullptr) {
    parts_.keep(place, {file}, 1);
    return false;
  }
  const bool is_news = follows(file, std::exchange(known->last, file)) && !known->is_told;
  known->is_told = known->is_told || is_news;
  return is_news;
}

// The one that is read goes first.
Async<void> FileReader::expect_part_behind(Inode file, Extent extent, ObjectRange range) {
  if (!cache_.has(range)) cache_.expect(range, file);
  const auto behind = CO_TRY(co_await part_behind(snapshot_, file, extent));
  if (behind && !cache_.has(*behind)) cache_.expect(*behind, file);
  co_return {};
}

// --- A piece of a chunk.

Async<HeldBytes> FileReader::piece(Extent extent, std::optional<ObjectRange> with,
                                   std::uint64_t from, std::uint64_t until) {
  if (extent.is_hole()) co_return zeros(until - from);
  const Place place(extent.pack, extent.offset);
  const HeldBytes* const known = decoded_.find(place);
  // Somebody else's index may say two things of a place.
  if (known != nullptr && known->bytes.size() == extent.length) {
    co_return known->part(from, until - from);
  }
  const ObjectRange wanted = checked_range(extent, from, until);
  HeldBytes stored = CO_TRY(co_await cache_.read(wanted, with.value_or(wanted)));
  Result<HeldBytes> part = part_of(extent, wanted, stored, from, until);
  if (part.ok()) co_return part;
  // A disk or a network may have changed it; the store is asked once more.
  stored = CO_TRY(co_await cache_.read_anew(wanted));
  co_return part_of(extent, wanted, stored, from, until);
}

Result<HeldBytes> FileReader::part_of(const Extent& extent, const ObjectRange& range,
                                      const HeldBytes& stored, std::uint64_t from,
                                      std::uint64_t until) {
  if (extent.is_as_stored()) {
    const std::uint64_t begin = range.offset - extent.offset;
    TRY(check_blocks(extent, stored.bytes, begin / kBlockBytes));
    return stored.part(from - begin, until - from);
  }
  const HeldBytes whole = HeldBytes::of(TRY(chunk_of(extent, stored.bytes)));
  decoded_.keep({extent.pack, extent.offset}, whole, whole.bytes.size());
  return whole.part(from, until - from);
}

}  // namespace runnel::volume
