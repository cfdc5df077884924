#include "volume_sim/cache_disk.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

#include "base/check.h"

namespace runnel::volume_sim {

// What one process sees.
class CacheDisk::View final : public volume::CacheFiles {
 public:
  View(CacheDisk& disk, std::int64_t life) : disk_(disk), life_(life) {}

  std::uint32_t segments() const override {
    return static_cast<std::uint32_t>(disk_.segments_.size());
  }
  bool has(std::uint32_t segment) const override { return disk_.segments_[segment].is_there; }

  Result<void> make(std::uint32_t segment) override {
    if (disk_.is_full_ && !has(segment)) return Error(Errc::kFull, "no room for a segment");
    if (disk_.may_write(life_)) disk_.segments_[segment].is_there = true;
    ++disk_.begun_;
    return {};
  }

  Result<void> write(std::uint32_t segment, std::uint64_t place, std::string_view bytes) override {
    CHECK(has(segment) || disk_.is_killed(), "a write to a segment that is not there");
    return disk_.write(life_, segment, place, bytes);
  }

  Result<void> read(std::uint32_t segment, std::uint64_t place, std::span<char> into,
                    std::uint64_t least) const override {
    CHECK(least <= into.size(), "more is wanted than there is room for");
    return disk_.read(segment, place, into);
  }

 private:
  CacheDisk& disk_;
  const std::int64_t life_;
};

std::unique_ptr<volume::CacheFiles> CacheDisk::open() {
  pages_left_.reset();
  return std::make_unique<View>(*this, ++life_);
}

bool CacheDisk::may_write(std::int64_t life) { return life == life_ && !is_killed(); }

Result<void> CacheDisk::write(std::int64_t life, std::uint32_t segment, std::uint64_t place,
                              std::string_view bytes) {
  CHECK(place % kDiskPage == 0 && bytes.size() % kDiskPage == 0, "no whole pages are written");
  if (may_write(life) && bytes.size() == fails_at_) {
    fails_at_ = 0;
    return Error(Errc::kIo, "the disk fails once");
  }
  for (std::uint64_t at = 0; at < bytes.size(); at += kDiskPage) {
    if (!may_write(life)) return {};
    if (is_failing_) return Error(Errc::kIo, "the disk fails");
    segments_[segment].pages[place + at] = std::string(bytes.substr(at, kDiskPage));
    if (pages_left_) --*pages_left_;
  }
  return {};
}

Result<void> CacheDisk::read(std::uint32_t segment, std::uint64_t place,
                             std::span<char> bytes) const {
  if (is_failing_) return Error(Errc::kIo, "the disk fails");
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
  return {};
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
