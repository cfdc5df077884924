#include "volume_sim/cache_disk.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

#include "base/check.h"
#include "volume/cache_table.h"

namespace runnel::volume_sim {
namespace {

using volume::CacheMap;
using volume::CacheSlot;

}  // namespace

// What one process sees.
class CacheDisk::View final : public volume::CacheSegments {
 public:
  View(CacheDisk& disk, std::int64_t life) : disk_(disk), life_(life) {}

  std::uint32_t segments() const override {
    return static_cast<std::uint32_t>(disk_.segments_.size());
  }
  bool has(std::uint32_t segment) const override { return disk_.segments_[segment].is_there; }

  std::vector<CacheSlot> slots_of(std::uint32_t segment) const override {
    std::string table(CacheMap::kTableBytes, '\0');
    disk_.read(segment, CacheMap::kDataBytes, table);
    return volume::decode_cache_table(table, segment);
  }

  Result<void> begin_segment(std::uint32_t segment) override {
    const bool is_new = !has(segment);
    if (disk_.is_full_ && is_new) return Error(Errc::kFull, "no room for a segment");
    if (disk_.may_write(life_)) disk_.segments_[segment].is_there = true;
    ++disk_.begun_;
    return disk_.write(life_, segment, CacheMap::kDataBytes,
                       std::string(CacheMap::kTableBytes, '\0'));
  }

  Result<void> write(const CacheSlot& slot, std::string_view bytes) override {
    CHECK(has(slot.segment) || disk_.is_killed(), "a slot in a segment that is not there");
    CHECK(slot.place + bytes.size() <= CacheMap::kDataBytes, "a slot runs into the table");
    TRY(disk_.write(life_, slot.segment, slot.place, bytes));
    return enter(slot, volume::encode_cache_entry(slot));
  }

  Result<void> forget(const CacheSlot& slot) override {
    return enter(slot, volume::encode_dropped_entry(slot));
  }

  Result<std::shared_ptr<env::AlignedBytes>> read(const CacheSlot& slot, std::uint64_t offset,
                                                  std::uint64_t length) const override {
    auto bytes = std::make_shared<env::AlignedBytes>(length);
    disk_.read(slot.segment, slot.place + offset, bytes->span());
    return bytes;
  }

 private:
  Result<void> enter(const CacheSlot& slot, const std::string& entry) {
    const std::uint64_t at = CacheMap::kDataBytes + slot.number * volume::kCacheEntryBytes;
    const std::uint64_t page = at / kDiskPage * kDiskPage;
    std::string entries(kDiskPage, '\0');
    disk_.read(slot.segment, page, entries);
    std::copy(entry.begin(), entry.end(), entries.begin() + static_cast<std::ptrdiff_t>(at - page));
    return disk_.write(life_, slot.segment, page, entries);
  }

  CacheDisk& disk_;
  const std::int64_t life_;
};

std::unique_ptr<volume::CacheSegments> CacheDisk::open() {
  pages_left_.reset();
  return std::make_unique<View>(*this, ++life_);
}

bool CacheDisk::may_write(std::int64_t life) { return life == life_ && !is_killed(); }

Result<void> CacheDisk::write(std::int64_t life, std::uint32_t segment, std::uint64_t place,
                              std::string_view bytes) {
  CHECK(place % kDiskPage == 0 && bytes.size() % kDiskPage == 0, "no whole pages are written");
  for (std::uint64_t at = 0; at < bytes.size(); at += kDiskPage) {
    if (!may_write(life)) return {};
    if (is_failing_) return Error(Errc::kIo, "the disk fails");
    segments_[segment].pages[place + at] = std::string(bytes.substr(at, kDiskPage));
    if (pages_left_) --*pages_left_;
  }
  return {};
}

void CacheDisk::read(std::uint32_t segment, std::uint64_t place, std::span<char> bytes) const {
  const std::map<std::uint64_t, Page>& pages = segments_[segment].pages;
  for (std::uint64_t at = 0; at < bytes.size();) {
    const std::uint64_t page = (place + at) / kDiskPage * kDiskPage;
    const std::uint64_t skip = place + at - page;
    const std::uint64_t count = std::min(kDiskPage - skip, bytes.size() - at);
    const std::span<char> part = bytes.subspan(at, count);
    const auto found = pages.find(page);
    if (found == pages.end()) {
      std::fill(part.begin(), part.end(), '\0');
    } else {
      std::copy_n(found->second.begin() + static_cast<std::ptrdiff_t>(skip), count, part.begin());
    }
    at += count;
  }
}

bool CacheDisk::flip_a_bit(SplitMix64& dice) {
  Segment& segment = segments_[dice.next() % segments_.size()];
  if (segment.pages.empty()) return false;
  const auto which = static_cast<std::ptrdiff_t>(dice.next() % segment.pages.size());
  Page& page = std::next(segment.pages.begin(), which)->second;
  char& byte = page[dice.next() % page.size()];
  byte = static_cast<char>(byte ^ (1 << (dice.next() % 8)));
  ++flipped_;
  return true;
}

}  // namespace runnel::volume_sim
