#include "writing/content.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace runnel::writing {
namespace {

// Of bytes that begin so much later.
Source moved_on(Source source, std::uint64_t by) {
  if (source.kind == Source::Kind::kData) source.data.offset += by;
  return source;
}

}  // namespace

Content Content::of_base(std::uint64_t size) {
  Content content;
  if (size > 0) content.now_[0] = {.length = size};
  content.size_ = size;
  content.committed_size_ = size;
  content.is_committed_ = true;
  return content;
}

void Content::write(std::uint64_t offset, std::uint64_t length, DataPlace place, Sequence by) {
  if (length == 0) return;
  CHECK(length <= UINT64_MAX - offset, "a file ends behind all numbers");
  if (offset > size_) truncate(offset, by);
  keep_committed(offset, offset + length);
  put(offset, length, {.kind = Source::Kind::kData, .data = place}, by);
  size_ = std::max(size_, offset + length);
}

void Content::truncate(std::uint64_t size, Sequence by) {
  if (size < size_) {
    keep_committed(size, size_);
    split(now_, size);
    now_.erase(now_.lower_bound(size), now_.end());
  } else if (size > size_) {
    keep_committed(size_, size);
    put(size_, size - size_, {.kind = Source::Kind::kZeros, .data = {}}, by);
  }
  size_ = size;
}

void Content::commit(Sequence by) {
  CHECK(by > committed_in_, "a commit is older than the last one");
  before_.clear();
  committed_size_ = size_;
  is_committed_ = true;
  committed_in_ = by;
}

// What of now_ was there at the last commit, and is about to go.
void Content::keep_committed(std::uint64_t from, std::uint64_t until) {
  if (!is_committed_) return;
  until = std::min(until, committed_size_);
  while (from < until) {
    const auto after = before_.upper_bound(from);
    if (after != before_.begin()) {
      const auto& kept = *std::prev(after);
      const std::uint64_t end = kept.first + kept.second.length;
      if (end > from) {
        from = end;
        continue;
      }
    }
    const std::uint64_t end = after == before_.end() ? until : std::min(until, after->first);
    for (const Range& range : cut_out(now_, from, end)) {
      before_[range.offset] = {
          .length = range.length, .source = range.source, .since = range.since};
    }
    from = end;
  }
}

void Content::put(std::uint64_t offset, std::uint64_t length, Source source, Sequence by) {
  CHECK(length > 0, "a range without bytes");
  split(now_, offset);
  split(now_, offset + length);
  const auto next = now_.erase(now_.lower_bound(offset), now_.lower_bound(offset + length));
  if (next != now_.begin()) {
    auto& [place, last] = *std::prev(next);
    const bool is_later = last.since > committed_in_;
    const bool goes_on = place + last.length == offset && last.source.kind == source.kind &&
                         moved_on(last.source, last.length) == source;
    if (goes_on && is_later) {
      last.length += length;
      last.since = by;
      return;
    }
  }
  now_.emplace_hint(next, offset, Piece{.length = length, .source = source, .since = by});
}

void Content::split(Pieces& pieces, std::uint64_t at) {
  auto found = pieces.lower_bound(at);
  if (found == pieces.begin()) return;
  auto& [offset, piece] = *std::prev(found);
  if (offset + piece.length <= at) return;
  const std::uint64_t front = at - offset;
  pieces.emplace_hint(found, at,
                      Piece{.length = piece.length - front,
                            .source = moved_on(piece.source, front),
                            .since = piece.since});
  piece.length = front;
}

void Content::become_base(Sequence committed_in) {
  CHECK(committed_in <= committed_in_, "a version has what was never committed");
  base_in_ = committed_in;
  become_base(now_, committed_in);
  become_base(before_, committed_in);
}

void Content::become_base(Pieces& pieces, Sequence until) {
  for (auto at = pieces.begin(); at != pieces.end();) {
    Piece& piece = at->second;
    if (piece.since <= until) piece = {.length = piece.length};
    const bool is_base = piece.source.kind == Source::Kind::kBase;
    const auto last = at == pieces.begin() ? pieces.end() : std::prev(at);
    const bool goes_on = last != pieces.end() && is_base &&
                         last->second.source.kind == Source::Kind::kBase &&
                         last->first + last->second.length == at->first;
    if (goes_on) {
      last->second.length += piece.length;
      at = pieces.erase(at);
    } else {
      ++at;
    }
  }
}

Range Content::range_of(const Pieces::value_type& piece, std::uint64_t from, std::uint64_t until) {
  const auto& [offset, what] = piece;
  const std::uint64_t begin = std::max(from, offset);
  const std::uint64_t end = std::min(until, offset + what.length);
  return {.offset = begin,
          .length = end - begin,
          .source = moved_on(what.source, begin - offset),
          .since = what.since};
}

std::vector<Range> Content::cut_out(const Pieces& pieces, std::uint64_t from, std::uint64_t until) {
  std::vector<Range> all;
  if (from >= until) return all;
  auto at = pieces.upper_bound(from);
  if (at != pieces.begin() && std::prev(at)->first + std::prev(at)->second.length > from) --at;
  for (; at != pieces.end() && at->first < until; ++at) all.push_back(range_of(*at, from, until));
  return all;
}

std::vector<Range> Content::ranges(std::uint64_t from, std::uint64_t until) const {
  return cut_out(now_, from, std::min(until, size_));
}

std::vector<Range> Content::committed_ranges() const {
  CHECK(is_committed_, "a file that was never committed is in no version");
  std::vector<Range> all;
  std::uint64_t from = 0;
  for (const auto& kept : before_) {
    for (const Range& range : cut_out(now_, from, kept.first)) all.push_back(range);
    all.push_back(range_of(kept, kept.first, committed_size_));
    from = kept.first + kept.second.length;
  }
  if (from < committed_size_) {
    for (const Range& range : cut_out(now_, from, committed_size_)) all.push_back(range);
  }
  return all;
}

std::vector<Range> Content::uncommitted_ranges() const {
  std::vector<Range> all;
  for (const auto& piece : now_) {
    if (piece.second.since > committed_in_) all.push_back(range_of(piece, 0, size_));
  }
  return all;
}

void Content::add_files(std::set<DataFile>& files) const {
  for (const Pieces* const pieces : {&now_, &before_}) {
    for (const auto& [offset, piece] : *pieces) {
      if (piece.source.kind == Source::Kind::kData) files.insert(piece.source.data.file);
    }
  }
}

}  // namespace runnel::writing
