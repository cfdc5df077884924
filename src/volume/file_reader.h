#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "volume/pack_cache.h"
#include "volume/read_ahead.h"
#include "volume/recently_used.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// Reads parts of files of one version, as a mount and the library do: small files come with their
// neighbours, and the next part of a pack ahead of who reads them in order; long ones ahead of who
// reads them in sequence; of objects that are linked and small, those that follow come ahead of who
// reads one after another.
//
// Contract: bytes are given when they are what the index's sums say, or of the object that was
//           linked; else kCorrupt names the pack or the object.
// Threads:  the loop's only.
// Lifetime: snapshot and cache outlive it.
// Limits:   the memory's budgets of decompressed chunks and of layouts.
class FileReader {
 public:
  static constexpr std::uint64_t kWindowMax = 32 << 20;  // Ahead of one reader.
  static constexpr std::size_t kPartsMax = 64;           // In which files are read in order.
  static constexpr Inode kFilesSkipped = 8;              // At most, by who reads in order.
  static constexpr Inode kObjectsAhead = 32;

  FileReader(Snapshot& snapshot, PackCache& cache)
      : snapshot_(snapshot),
        cache_(cache),
        ahead_(kWindowMax),
        parts_(kPartsMax),
        layouts_(cache.memory().layouts),
        decoded_(cache.memory().decoded) {}

  // Bytes of a file from `offset` on, in pieces: `length`, or up to its end. kInvalid for what is
  // no file.
  Async<std::vector<HeldBytes>> read(Inode file, std::uint64_t offset, std::uint64_t length);

 private:
  // Where the bytes of a file are.
  struct Layout {
    std::uint64_t size = 0;
    std::vector<Extent> extents;
    std::vector<std::uint64_t> begins;  // Of each in the file.

    std::size_t memory() const;  // Bytes, about.
  };
  using LayoutPtr = std::shared_ptr<const Layout>;
  // The extents that have bytes of a part of the file: their indices, [begin, end).
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  using Place = std::pair<ObjectId, std::uint64_t>;

  Async<LayoutPtr> layout_of(Inode file);
  static Span span_of(const Layout& layout, std::uint64_t from, std::uint64_t until);
  // Whether what is read is likely to be wanted alone.
  bool look_ahead(Inode file, const Layout& layout, std::uint64_t offset, std::uint64_t length);
  // Whether all of it was in memory or on its way before.
  bool expect(Inode file, const Layout& layout, Span span);
  static bool follows(Inode file, Inode last);
  Async<void> expect_objects_from(Inode file, ObjectRange range);
  // Whether the part of a pack behind the one of this extent is to come from now on.
  bool goes_on_in_part(Inode file, const Extent& extent);
  // The short file is about to be read together with `range`.
  Async<void> expect_part_behind(Inode file, Extent extent, ObjectRange range);
  // [from, until) of a chunk, which is fetched with all of `with`; none: with as little as can be
  // checked.
  Async<HeldBytes> piece(Extent extent, std::optional<ObjectRange> with, std::uint64_t from,
                         std::uint64_t until);
  // The same out of what is stored of it from a range on that has it, once that is checked.
  Result<HeldBytes> part_of(const Extent& extent, const ObjectRange& range, const HeldBytes& stored,
                            std::uint64_t from, std::uint64_t until);

  Snapshot& snapshot_;
  PackCache& cache_;
  ReadAhead ahead_;
  // How far a part of a pack was read.
  struct InPart {
    Inode last = 0;        // The file that was read last.
    bool is_told = false;  // Whether the next part is expected.
  };
  RecentlyUsed<Place, InPart> parts_;
  Inode last_object_ = 0;  // The small one that was read last.
  RecentlyUsed<Inode, LayoutPtr> layouts_;
  RecentlyUsed<Place, HeldBytes> decoded_;
};

}  // namespace runnel::volume
