#include "volume/neighbours.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "volume/fetch_plan.h"

namespace runnel::volume {
namespace {

constexpr Inode kInodesAtOnce = 512;
constexpr std::size_t kRecordsMax = 1'024;
constexpr int kStepsMax = 32;  // Each way.

// What is known of a part of a pack.
class Part {
 public:
  explicit Part(const Extent& chunk) : number_(number_of(chunk)) { range_ = stored_range(chunk); }

  const ObjectRange& range() const { return range_; }
  // Whether one of them is in the part.
  bool add(const std::vector<Snapshot::Stored>& files) {
    bool is_in = false;
    for (const Snapshot::Stored& file : files) is_in = add(file) || is_in;
    return is_in;
  }
  bool add(const Snapshot::Stored& file) {
    bool is_in = false;
    for (const Extent& extent : file.extents) is_in = add(extent) || is_in;
    return is_in;
  }

 private:
  static std::uint64_t number_of(const Extent& extent) { return extent.offset / kFetchBytesMax; }

  bool add(const Extent& extent) {
    if (extent.pack != range_.object || number_of(extent) != number_) return false;
    const std::uint64_t end = std::max(range_.end(), extent.offset + extent.stored);
    range_.offset = std::min(range_.offset, extent.offset);
    range_.length = end - range_.offset;
    return true;
  }

  const std::uint64_t number_;
  ObjectRange range_;
};

Async<void> add_behind(Snapshot& snapshot, Inode file, Part& part) {
  for (int step = 0; step < kStepsMax; ++step, file += kInodesAtOnce) {
    const auto files =
        CO_TRY(co_await snapshot.stored_from(file, file + kInodesAtOnce, kRecordsMax));
    if (!part.add(files)) break;
  }
  co_return {};
}

Async<void> add_before(Snapshot& snapshot, Inode file, Part& part) {
  for (int step = 0; step < kStepsMax && file > kRootInode; ++step) {
    const Inode begin = file > kInodesAtOnce ? file - kInodesAtOnce : kRootInode;
    const auto files = CO_TRY(co_await snapshot.stored_from(begin, file, kRecordsMax));
    if (!part.add(files)) break;
    file = begin;
  }
  co_return {};
}

}  // namespace

Async<ObjectRange> with_neighbours(Snapshot& snapshot, Inode file, Extent chunk) {
  Part part(chunk);
  CO_TRY(co_await add_behind(snapshot, file, part));
  CO_TRY(co_await add_before(snapshot, file, part));
  co_return part.range();
}

Async<std::optional<ObjectRange>> part_behind(Snapshot& snapshot, Inode file, Extent chunk) {
  Part part(chunk);
  std::optional<Snapshot::Stored> behind;  // The first one after the last in the part.
  for (int step = 0; step < kStepsMax; ++step, file += kInodesAtOnce) {
    bool is_in = false;
    for (Snapshot::Stored& next :
         CO_TRY(co_await snapshot.stored_from(file, file + kInodesAtOnce, kRecordsMax))) {
      if (part.add(next)) {
        is_in = true;
        behind.reset();
      } else if (!behind && next.extents.size() == 1 && next.extents.front().is_packed()) {
        behind = std::move(next);
      }
    }
    if (!is_in) break;
  }
  if (!behind) co_return std::optional<ObjectRange>();
  co_return std::optional(
      CO_TRY(co_await with_neighbours(snapshot, behind->inode, behind->extents.front())));
}

}  // namespace runnel::volume
