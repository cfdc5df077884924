#include "writing/file_parts.h"

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "volume/chunker.h"

namespace runnel::writing {
namespace {

using Kind = FilePart::Kind;

constexpr std::uint64_t kKiB = 1 << 10;

std::vector<volume::Extent> extents_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<volume::Extent> extents;
  for (const std::uint64_t length : lengths) {
    volume::Extent extent;
    extent.pack.bytes[0] = 1;
    extent.length = length;
    extents.push_back(extent);
  }
  return extents;
}

// A file of the base, changed by `change`, as it is committed.
std::vector<Range> changed(std::uint64_t base, const std::function<void(Content&)>& change) {
  Content content = Content::of_base(base);
  change(content);
  content.commit(100);
  return content.committed_ranges();
}

void write(Content& content, std::uint64_t offset, std::uint64_t length) {
  content.write(offset, length, {{DataFile::Kind::kSegment, 1}, 0}, 50);
}

TEST(FileParts, WhatIsNotChangedStays) {
  const auto base = extents_of({256 * kKiB, 100 * kKiB, 200 * kKiB});
  EXPECT_EQ(parts_of(changed(556 * kKiB, [](Content&) {}), base),
            (std::vector<FilePart>{{Kind::kKept, 0, 256 * kKiB, 0},
                                   {Kind::kKept, 256 * kKiB, 100 * kKiB, 1},
                                   {Kind::kKept, 356 * kKiB, 200 * kKiB, 2}}));
  EXPECT_TRUE(parts_of({}, {}).empty()) << "a file without bytes";
}

TEST(FileParts, AChangedPageCostsTheChunkThatItIsIn) {
  const auto base = extents_of({256 * kKiB, 100 * kKiB, 200 * kKiB});
  const auto page = [](Content& content) { write(content, 300 * kKiB, 4 * kKiB); };
  EXPECT_EQ(parts_of(changed(556 * kKiB, page), base),
            (std::vector<FilePart>{{Kind::kKept, 0, 256 * kKiB, 0},
                                   {Kind::kAnew, 256 * kKiB, 100 * kKiB, 0},
                                   {Kind::kKept, 356 * kKiB, 200 * kKiB, 2}}));
}

TEST(FileParts, WhatIsAppendedIsCutWithNothingElse) {
  const auto base = extents_of({256 * kKiB, 100 * kKiB});
  const auto append = [](Content& content) { write(content, 356 * kKiB, 9); };
  EXPECT_EQ(parts_of(changed(356 * kKiB, append), base),
            (std::vector<FilePart>{{Kind::kKept, 0, 256 * kKiB, 0},
                                   {Kind::kKept, 256 * kKiB, 100 * kKiB, 1},
                                   {Kind::kAnew, 356 * kKiB, 9, 0}}));
}

TEST(FileParts, ManyZerosAreAHoleAndFewAreNot) {
  const auto base = extents_of({256 * kKiB, 100 * kKiB});
  const auto longer = [](std::uint64_t by) {
    return [by](Content& content) { content.truncate(356 * kKiB + by, 50); };
  };
  const auto parts = parts_of(changed(356 * kKiB, longer(volume::kHoleLeast)), base);
  EXPECT_EQ(parts.back(), (FilePart{Kind::kHole, 356 * kKiB, volume::kHoleLeast, 0}));
  EXPECT_EQ(parts_of(changed(356 * kKiB, longer(1)), base).back().kind, Kind::kAnew);
}

TEST(FileParts, AShortFileIsOnePart) {
  const auto base = extents_of({100 * kKiB, 50 * kKiB});
  const auto page = [](Content& content) { write(content, 0, 1); };
  EXPECT_EQ(parts_of(changed(150 * kKiB, page), base),
            (std::vector<FilePart>{{Kind::kAnew, 0, 150 * kKiB, 0}}));
  const auto shorter = [](Content& content) { content.truncate(100 * kKiB, 50); };
  EXPECT_EQ(parts_of(changed(150 * kKiB, shorter), base)[0].kind, Kind::kKept);
}

// The object of a bucket is the only extent that its file may have.
TEST(FileParts, AFileOverAnObjectIsWholeOrAnew) {
  volume::Extent object;
  object.length = 900 * kKiB;
  object.linked = std::make_shared<volume::LinkedObject>();
  const auto append = [](Content& content) { write(content, 900 * kKiB, 9); };
  EXPECT_EQ(parts_of(changed(900 * kKiB, [](Content&) {}), {object})[0].kind, Kind::kKept);
  EXPECT_EQ(parts_of(changed(900 * kKiB, append), {object}),
            (std::vector<FilePart>{{Kind::kAnew, 0, 900 * kKiB + 9, 0}}));
}

// Whether each byte is in one part, and none that changed in one that is kept.
TEST(FileParts, OfAnyFileHaveEachByteOnce) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SplitMix64 random(seed);
    std::vector<std::uint64_t> lengths;
    std::uint64_t size = 0;
    for (std::uint64_t each = random.next() % 12; each > 0; --each) {
      lengths.push_back(1 + random.next() % (300 * kKiB));
      size += lengths.back();
    }
    std::vector<std::uint64_t> begins;
    for (std::uint64_t at = 0; const std::uint64_t length : lengths) {
      begins.push_back(at);
      at += length;
    }
    const std::vector<Range> ranges = changed(size, [&](Content& content) {
      for (std::uint64_t each = random.next() % 5; each > 0; --each) {
        const std::uint64_t at = random.next() % (content.size() + 200 * kKiB + 1);
        random.next() % 3 == 0 ? content.truncate(at, 50)
                               : write(content, at, 1 + random.next() % (90 * kKiB));
      }
    });
    std::uint64_t end = 0;
    for (const FilePart& part : parts_of(ranges, extents_of(lengths))) {
      ASSERT_EQ(part.offset, end) << "seed " << seed;
      end += part.length;
      if (part.kind == Kind::kAnew) continue;
      const auto wanted = part.kind == Kind::kHole ? Source::Kind::kZeros : Source::Kind::kBase;
      for (const Range& range : ranges) {
        const bool is_in = range.offset < end && range.end() > part.offset;
        EXPECT_TRUE(!is_in || range.source.kind == wanted) << "seed " << seed;
      }
      if (part.kind == Kind::kHole) continue;
      EXPECT_EQ(part.offset, begins.at(part.extent)) << "seed " << seed;
      EXPECT_EQ(part.length, lengths.at(part.extent)) << "seed " << seed;
    }
    EXPECT_EQ(end, ranges.empty() ? 0 : ranges.back().end()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace runnel::writing
