#include "writing/file_parts.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "volume/chunker.h"

namespace runnel::writing {
namespace {

// Puts the parts of a file one behind the other.
class Parts {
 public:
  void keep(std::size_t extent, std::uint64_t length) {
    add({FilePart::Kind::kKept, end_, length, extent});
  }
  void hole(std::uint64_t length) { add({FilePart::Kind::kHole, end_, length}); }
  // Neighbours that are stored anew are cut together.
  void anew(std::uint64_t length) {
    if (length == 0) return;
    const bool goes_on = !parts_.empty() && parts_.back().kind == FilePart::Kind::kAnew;
    if (!goes_on) return add({FilePart::Kind::kAnew, end_, length});
    parts_.back().length += length;
    end_ += length;
  }
  std::uint64_t end() const { return end_; }
  const std::vector<FilePart>& all() const { return parts_; }

 private:
  void add(FilePart part) {
    CHECK(part.length > 0, "a part of a file without bytes");
    end_ += part.length;
    parts_.push_back(part);
  }

  std::vector<FilePart> parts_;
  std::uint64_t end_ = 0;
};

// Walks the extents of the base's file, once.
class BaseExtents {
 public:
  explicit BaseExtents(const std::vector<volume::Extent>& extents) : extents_(extents) {}

  // What of [from, until) is whole extents is kept.
  void take(std::uint64_t from, std::uint64_t until, Parts& parts) {
    while (next_ < extents_.size() && begin_ < from) pass();
    while (next_ < extents_.size() && begin_ + extents_[next_].length <= until) {
      parts.anew(begin_ - parts.end());
      parts.keep(next_, extents_[next_].length);
      pass();
    }
    parts.anew(until - parts.end());
  }

 private:
  void pass() { begin_ += extents_[next_++].length; }

  const std::vector<volume::Extent>& extents_;
  std::size_t next_ = 0;
  std::uint64_t begin_ = 0;  // Of the next one, in the file.
};

bool is_base(const Range& range) { return range.source.kind == Source::Kind::kBase; }

std::vector<FilePart> one_part(std::uint64_t size) { return {{FilePart::Kind::kAnew, 0, size, 0}}; }

}  // namespace

std::vector<FilePart> parts_of(const std::vector<Range>& ranges,
                               const std::vector<volume::Extent>& base) {
  Parts parts;
  BaseExtents extents(base);
  for (auto range = ranges.begin(); range != ranges.end();) {
    CHECK(range->offset == parts.end(), "a file with a gap between its ranges");
    if (!is_base(*range)) {
      const bool is_hole = range->source.kind == Source::Kind::kZeros;
      is_hole && range->length >= volume::kHoleLeast ? parts.hole(range->length)
                                                     : parts.anew(range->length);
      ++range;
      continue;
    }
    const auto last = std::find_if_not(range, ranges.end(), is_base);
    extents.take(range->offset, std::prev(last)->end(), parts);
    range = last;
  }
  const auto is_kept = [](const FilePart& part) { return part.kind == FilePart::Kind::kKept; };
  const bool is_as_before = std::ranges::all_of(parts.all(), is_kept);
  const bool is_one = volume::is_linked(base) || parts.end() <= volume::kWholeFileMax;
  return is_one && !is_as_before ? one_part(parts.end()) : parts.all();
}

}  // namespace runnel::writing
