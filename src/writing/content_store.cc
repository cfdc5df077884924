#include "writing/content_store.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "volume/file_cutter.h"

namespace runnel::writing {
namespace {

bool is_of_base(const Range& range) { return range.source.kind == Source::Kind::kBase; }

std::vector<std::uint64_t> begins_of(const std::vector<volume::Extent>& extents) {
  std::vector<std::uint64_t> begins;
  begins.reserve(extents.size());
  std::uint64_t at = 0;
  for (const volume::Extent& extent : extents) {
    begins.push_back(at);
    at += extent.length;
  }
  return begins;
}

void add_hole(std::vector<volume::Extent>& extents, std::uint64_t length) {
  for (std::uint64_t left = length; left > 0;) {
    const std::uint64_t some = std::min(left, volume::kChunkBytesMax);
    extents.push_back(volume::hole_of(some));
    left -= some;
  }
}

}  // namespace

Async<StoredContent> ContentStore::store(Inode inode, const Content& content) {
  File file = CO_TRY(co_await open(inode, content));
  const std::vector<FilePart> parts = parts_of(file.ranges, file.base);
  for (std::size_t next = 0; next < parts.size();) {
    const FilePart& part = parts[next];
    switch (part.kind) {
      case FilePart::Kind::kKept: next = CO_TRY(co_await keep(file, parts, next)); break;
      case FilePart::Kind::kHole:
        file.hash.add_zeros(part.length);
        add_hole(file.extents, part.length);
        ++next;
        break;
      case FilePart::Kind::kAnew:
        CO_TRY(co_await store_anew(file, part));
        ++next;
        break;
    }
  }
  CHECK(file.hash.size() == content.committed_size(), "a file of another size is stored");
  co_return StoredContent{std::move(file.extents), file.hash.finish()};
}

std::optional<std::vector<DataRange>> ContentStore::ranges_of_short(const Content& content) {
  if (content.committed_size() == 0 || content.committed_size() > kShortMax) return std::nullopt;
  std::vector<DataRange> ranges;
  for (const Range& range : content.committed_ranges()) {
    if (range.source.kind != Source::Kind::kData) return std::nullopt;
    ranges.push_back({range.source.data, range.length});
  }
  return ranges;
}

namespace {

// Files as they are cut, each an entry of the batch.
struct CutFiles {
  volume::ReadBatch batch;
  std::vector<hash::Digest> hashes;
};

// `parts`: how many of the bytes each has.
CutFiles cut_whole(const std::vector<std::size_t>& parts, const std::vector<std::string>& bytes) {
  CutFiles cut;
  std::size_t at = 0;
  for (const std::size_t count : parts) {
    volume::FileCutter cutter;
    for (std::size_t part = 0; part < count; ++part) cutter.add(bytes[at++]);
    cutter.end();
    volume::ReadEntry entry;
    const bool is_whole = cutter.cut(cut.batch, entry);
    CHECK(is_whole, "a short file is not cut at once");
    cut.hashes.push_back(cutter.take_hash().finish());
    cut.batch.entries.push_back(std::move(entry));
  }
  return cut;
}

}  // namespace

Async<std::vector<StoredContent>> ContentStore::store_shorts(
    std::vector<std::vector<DataRange>> files) {
  std::vector<DataRange> ranges;
  std::vector<std::size_t> parts;
  for (const std::vector<DataRange>& file : files) {
    parts.push_back(file.size());
    ranges.insert(ranges.end(), file.begin(), file.end());
  }
  const std::vector<std::string> bytes = CO_TRY(co_await read_(std::move(ranges)));
  const CutFiles cut = CO_TRY(co_await worker_.run(
      [&parts, &bytes]() -> Result<CutFiles> { return cut_whole(parts, bytes); }));
  CO_TRY(co_await packs_.add(cut.batch, worker_));
  std::vector<StoredContent> stored;
  for (std::size_t at = 0; at < files.size(); ++at) {
    std::vector<volume::Extent> extents;
    for (const volume::ReadChunk& chunk : cut.batch.entries[at].chunks) {
      extents.push_back(packs_.extent_of(chunk));
    }
    stored.push_back({std::move(extents), cut.hashes[at]});
  }
  co_return stored;
}

Async<ContentStore::File> ContentStore::open(Inode inode, const Content& content) {
  File file;
  file.ranges = content.committed_ranges();
  if (std::ranges::none_of(file.ranges, is_of_base)) co_return file;
  volume::Node node = CO_TRY(co_await base_.node(inode));
  file.base = CO_TRY(co_await base_.extents(inode, std::move(node)));
  file.begins = begins_of(file.base);
  co_return file;
}

// They are read for the hash alone.
Async<std::size_t> ContentStore::keep(File& file, const std::vector<FilePart>& parts,
                                      std::size_t first) {
  std::vector<volume::Extent> kept;
  std::uint64_t bytes = 0;
  std::size_t next = first;
  for (; next < parts.size() && parts[next].kind == FilePart::Kind::kKept; ++next) {
    if (bytes > 0 && bytes + parts[next].length > kReadAtOnce) break;
    bytes += parts[next].length;
    kept.push_back(file.base.at(parts[next].extent));
  }
  file.extents.insert(file.extents.end(), kept.begin(), kept.end());
  std::vector<volume::Extent> pieces = volume::in_pieces(std::move(kept));
  for (std::size_t at = 0; at < pieces.size();) {
    std::vector<volume::Extent> some;
    for (std::uint64_t sum = 0; at < pieces.size() && sum < kReadAtOnce; ++at) {
      sum += pieces[at].length;
      some.push_back(std::move(pieces[at]));
    }
    const std::vector<std::string> chunks = CO_TRY(co_await read_all(std::move(some)));
    CO_TRY(co_await worker_.run([&file, &chunks]() -> Result<void> {
      for (const std::string& chunk : chunks) file.hash.add(chunk);
      return {};
    }));
  }
  co_return next;
}

Async<void> ContentStore::store_anew(File& file, const FilePart& part) {
  volume::FileCutter cutter(std::move(file.hash));
  const std::uint64_t end = part.offset + part.length;
  for (std::uint64_t at = part.offset; at < end;) {
    const std::uint64_t until = std::min(end, at + kReadAtOnce);
    const std::string bytes = CO_TRY(co_await bytes_of(file, at, until));
    at = until;
    volume::ReadBatch batch = CO_TRY(
        co_await worker_.run([&cutter, &bytes, ends = at == end]() -> Result<volume::ReadBatch> {
          volume::ReadBatch made;
          volume::ReadEntry entry;
          cutter.add(bytes);
          if (ends) cutter.end();
          const bool is_whole = cutter.cut(made, entry);
          CHECK(is_whole == ends, "a part of a file is cut at another place than its end");
          made.entries.push_back(std::move(entry));
          return made;
        }));
    CO_TRY(co_await packs_.add(batch, worker_));
    for (const volume::ReadChunk& chunk : batch.entries.front().chunks) {
      file.extents.push_back(packs_.extent_of(chunk));
    }
  }
  file.hash = cutter.take_hash();
  co_return {};
}

Async<std::string> ContentStore::bytes_of(const File& file, std::uint64_t from,
                                          std::uint64_t until) {
  auto range = std::ranges::lower_bound(file.ranges, from, {}, &Range::end);
  std::string bytes;
  bytes.reserve(until - from);
  for (; range != file.ranges.end() && range->offset < until; ++range) {
    const std::uint64_t begin = std::max(from, range->offset);
    const std::uint64_t length = std::min(until, range->end()) - begin;
    if (length == 0) continue;
    switch (range->source.kind) {
      case Source::Kind::kZeros: bytes.append(length, '\0'); break;
      case Source::Kind::kBase:
        bytes += CO_TRY(co_await base_bytes(file, begin, begin + length));
        break;
      case Source::Kind::kData: {
        DataPlace place = range->source.data;
        place.offset += begin - range->offset;
        const std::vector<std::string> read = CO_TRY(co_await read_({{place, length}}));
        bytes += read.front();
        break;
      }
    }
  }
  CHECK(bytes.size() == until - from, "a file lacks bytes that it was committed with");
  co_return bytes;
}

Async<std::string> ContentStore::base_bytes(const File& file, std::uint64_t from,
                                            std::uint64_t until) {
  const auto first = std::prev(std::ranges::upper_bound(file.begins, from));
  std::vector<volume::Extent> wanted;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cuts;  // Of each: from, and how many bytes.
  for (auto begin = first; begin != file.begins.end() && *begin < until; ++begin) {
    const auto index = static_cast<std::size_t>(begin - file.begins.begin());
    const volume::Extent& extent = file.base[index];
    const std::uint64_t cut = std::max(from, *begin) - *begin;
    const std::uint64_t length = std::min(until, *begin + extent.length) - *begin - cut;
    if (!extent.linked) {
      wanted.push_back(extent);
      cuts.emplace_back(cut, length);
      continue;
    }
    for (volume::Extent& piece : volume::in_pieces({volume::part_of_object(extent, cut, length)})) {
      cuts.emplace_back(0, piece.length);
      wanted.push_back(std::move(piece));
    }
  }
  const std::vector<std::string> chunks = CO_TRY(co_await read_all(std::move(wanted)));
  std::string bytes;
  for (std::size_t index = 0; index < chunks.size(); ++index) {
    bytes += std::string_view(chunks[index]).substr(cuts[index].first, cuts[index].second);
  }
  co_return bytes;
}

Async<std::vector<std::string>> ContentStore::read_all(std::vector<volume::Extent> extents) {
  std::vector<std::string> chunks;
  for (Result<std::string>& chunk : CO_TRY(co_await reader_.read(std::move(extents)))) {
    chunks.push_back(CO_TRY(std::move(chunk)));
  }
  co_return chunks;
}

}  // namespace runnel::writing
