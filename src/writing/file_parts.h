#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "volume/extent.h"
#include "writing/content.h"

namespace runnel::writing {

// A part of a file as a version stores it.
struct FilePart {
  enum class Kind : std::uint8_t {
    kKept,  // An extent of the base.
    kHole,  // Zeros that are nowhere.
    kAnew,  // Bytes that are read and cut into chunks, as a file of their own.
  };
  Kind kind = Kind::kAnew;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::size_t extent = 0;  // With kKept: which one of the base's.

  friend bool operator==(const FilePart&, const FilePart&) = default;
};

// The parts of a file of these ranges, which have no gap between them, over a file of the base with
// these extents: in order, and without a gap. What is the base's stays as far as whole extents go.
// A file of at most volume::kWholeFileMax bytes is one part, unless nothing in it has changed, and
// so is one over an object of a bucket, which is one extent.
// docs/design/branch_publish.md.
std::vector<FilePart> parts_of(const std::vector<Range>& ranges,
                               const std::vector<volume::Extent>& base);

}  // namespace runnel::writing
