#include "store/sqlite/detail/wal_scan.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "env/files.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::size_t kHeaderSize = 32;
constexpr std::size_t kFrameHeaderSize = 24;
constexpr std::uint32_t kMagic = 0x377F0682;  // Its last bit tells the byte order of checksums.
constexpr Bytes kWalMax = Bytes::gibi(2);

using Bits = std::uint32_t;
// The running checksum of a log, and the salt of one generation of it.
using Pair = std::pair<Bits, Bits>;

Bits big_endian(std::string_view bytes, std::size_t at) {
  Bits value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

Bits little_endian(std::string_view bytes, std::size_t at) {
  return __builtin_bswap32(big_endian(bytes, at));
}

// Fibonacci-weighted sums over pairs of words, as SQLite computes them.
template <typename ReadWord>
Pair add_words(Pair sum, std::string_view bytes, ReadWord read_word) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += read_word(bytes, at) + sum.second;
    sum.second += read_word(bytes, at + 4) + sum.first;
  }
  return sum;
}

Pair pair_at(std::string_view bytes, std::size_t at) {
  return {big_endian(bytes, at), big_endian(bytes, at + 4)};
}

struct Frame {
  std::int64_t page = 0;
  bool of_this_generation = false;
  bool whole = false;    // SQLite takes it: the checksum holds, given the one before, and the salt.
  bool commits = false;  // The last of a transaction.
};

class WalReader {
 public:
  explicit WalReader(std::string_view wal) : wal_(wal) {}

  bool header_holds() const {
    if (wal_.size() < kHeaderSize || (big_endian(wal_, 0) & ~1U) != kMagic) return false;
    if (page_size() < 512 || page_size() > 65'536 || (page_size() & (page_size() - 1)) != 0) {
      return false;
    }
    return add({0, 0}, wal_.substr(0, 24)) == pair_at(wal_, 24);
  }

  std::vector<Frame> frames() const {
    std::vector<Frame> frames;
    CHECK(header_holds(), "frames are read by the page size of a good header");
    const std::size_t frame_size = kFrameHeaderSize + page_size();
    Pair previous = pair_at(wal_, 24);
    std::size_t at = kHeaderSize;
    for (; at + frame_size <= wal_.size(); at += frame_size) {
      const std::string_view header = wal_.substr(at, kFrameHeaderSize);
      const std::string_view page = wal_.substr(at + kFrameHeaderSize, page_size());
      const Pair stored = pair_at(header, 16);
      const bool sum_holds = add(add(previous, header.substr(0, 8)), page) == stored;
      const bool salt_holds = pair_at(header, 8) == pair_at(wal_, 16);
      // Frames of an earlier generation chain among themselves, but not to a whole one of this.
      const bool follows_whole = frames.empty() || frames.back().whole;
      frames.push_back({.page = big_endian(header, 0),
                        .of_this_generation = salt_holds || (sum_holds && follows_whole),
                        .whole = sum_holds && salt_holds,
                        .commits = big_endian(header, 4) != 0});
      previous = stored;
    }
    // A frame cut by the end of the file.
    const bool is_cut = wal_.size() >= at + 16 && pair_at(wal_, at + 8) == pair_at(wal_, 16);
    if (is_cut) frames.push_back({.of_this_generation = true});
    return frames;
  }

 private:
  std::size_t page_size() const { return big_endian(wal_, 8) == 1 ? 65'536 : big_endian(wal_, 8); }

  Pair add(Pair sum, std::string_view bytes) const {
    const bool big = (big_endian(wal_, 0) & 1) != 0;
    return big ? add_words(sum, bytes, big_endian) : add_words(sum, bytes, little_endian);
  }

  std::string_view wal_;
};

// How many frames from the first on SQLite will accept as whole.
std::size_t accepted(std::span<const Frame> frames) {
  std::size_t count = 0;
  while (count < frames.size() && frames[count].whole) ++count;
  return count;
}

// Whether the first bad frame stands before the last transaction: behind it there is more than one
// end of a transaction, or a whole frame behind such an end.
bool is_before_last_transaction(std::span<const Frame> frames, std::size_t first_bad) {
  int ends = 0;
  for (const Frame& frame : frames.subspan(first_bad)) {
    if (ends > 0 && frame.whole) return true;
    if (frame.of_this_generation && frame.commits) ++ends;
  }
  return ends > 1;
}

std::vector<std::int64_t> pages_of(std::span<const Frame> frames) {
  std::vector<std::int64_t> pages;
  pages.reserve(frames.size());
  for (const Frame& frame : frames) pages.push_back(frame.page);
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  return pages;
}

WalFindings judge(std::span<const Frame> frames) {
  WalFindings findings;
  const std::size_t whole = accepted(frames);
  for (std::size_t i = 0; i < whole; ++i) {
    if (frames[i].commits) findings.committed_frames = static_cast<std::int64_t>(i) + 1;
  }
  const auto committed = static_cast<std::size_t>(findings.committed_frames);
  findings.pages = pages_of(frames.first(committed));
  for (const Frame& frame : frames.subspan(committed)) {
    if (frame.of_this_generation) ++findings.unfinished_frames;
  }
  CHECK(findings.committed_frames <= static_cast<std::int64_t>(whole), "only whole frames commit");
  if (is_before_last_transaction(frames, whole)) {
    findings.damage = "the write-ahead log of the event log is damaged at frame " +
                      std::to_string(whole + 1) + ", before its last transaction";
  }
  return findings;
}

}  // namespace

Result<WalFindings> scan_wal(const std::string& wal_path) {
  Result<std::string> wal = env::read_file(wal_path, kWalMax);
  if (!wal.ok() && wal.error().code == Errc::kNotFound) return WalFindings();
  if (!wal.ok()) return wal.error();
  if (wal->empty()) return WalFindings();
  const WalReader reader(*wal);
  // SQLite syncs the header before the first frame, so frames never stand behind a bad one.
  if (!reader.header_holds() && wal->size() <= kHeaderSize)
    return WalFindings{.unfinished_frames = 1};
  if (!reader.header_holds()) {
    return WalFindings{.damage = "the header of the event log's write-ahead log is damaged"};
  }
  return judge(reader.frames());
}

}  // namespace runnel::store::sqlite
