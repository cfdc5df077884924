#include "writing/testing/log_disk.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace runnel::writing::testing {

class LogDisk::View final : public LogFiles {
 public:
  View(LogDisk& disk, std::int64_t life) : disk_(disk), life_(life) {}

  Result<std::vector<std::uint64_t>> numbers() const override { return disk_.numbers(); }
  Result<std::vector<std::uint64_t>> retired() const override { return disk_.retired(); }
  Result<void> hold_room(std::uint64_t size, Room room, Reserve /*reserve*/) override {
    if (disk_.has_room_) return {};
    if (disk_.is_full_ || size > disk_.room_) return Error(Errc::kFull, "the disk is full");
    if (!disk_.may_change(life_)) return killed();
    disk_.has_room_ = true;
    disk_.room_ahead_ = room;
    return {};
  }
  Result<void> make(std::uint64_t number, std::string_view header, std::uint64_t size) override {
    TRY(hold_room(size, Room::kWritten, Reserve::kLeave));
    if (!disk_.may_change(life_)) return killed();
    CHECK(!disk_.segments_.contains(number), "a segment is made twice");
    disk_.has_room_ = false;
    disk_.room_of_last_ = disk_.room_ahead_;
    Segment& segment = disk_.segments_[number];
    segment.now.assign(size, '\0');
    segment.now.replace(0, header.size(), header);
    segment.on_disk = segment.now;
    return {};
  }
  Result<std::string> read(std::uint64_t number) const override {
    return disk_.segments_.at(number).now;
  }
  bool writes_at_once() const override { return disk_.writes_at_once_; }
  // A kill may come between two sectors.
  Result<void> write(std::uint64_t number, std::uint64_t place, std::string_view bytes) override {
    Segment& segment = disk_.segments_.at(number);
    CHECK(place + bytes.size() <= segment.now.size(), "a write goes beyond a segment");
    const bool fails = std::exchange(disk_.fails_write_, false);
    if (fails) bytes = bytes.substr(0, bytes.size() / 2);
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.size(), kSector - place % kSector);
      if (!disk_.may_change(life_)) return killed();
      segment.now.replace(place, size, bytes.substr(0, size));
      segment.dirty.insert(place / kSector);
      place += size;
      bytes.remove_prefix(size);
    }
    return fails ? Result<void>(Error(Errc::kIo, "the disk has failed")) : Result<void>();
  }
  // The kernel takes what a failed sync was to bring to the disk for written.
  Result<void> sync(std::uint64_t number) override {
    if (!disk_.may_change(life_)) return killed();
    ++disk_.syncs_;
    Segment& segment = disk_.segments_.at(number);
    const std::set<std::size_t> dirty = std::exchange(segment.dirty, {});
    if (std::exchange(disk_.fails_sync_, false)) return Error(Errc::kIo, "the disk has failed");
    for (const std::size_t sector : dirty) {
      segment.on_disk.replace(sector * kSector, kSector, segment.now, sector * kSector, kSector);
    }
    return {};
  }
  Result<std::string> read_part(std::uint64_t number, std::uint64_t place,
                                std::size_t length) const override {
    const auto found = disk_.segments_.find(number);
    if (found == disk_.segments_.end()) return Error(Errc::kNotFound, "there is no such segment");
    return found->second.now.substr(place, length);
  }
  Result<void> retire(std::uint64_t number) override {
    if (!disk_.segments_.contains(number)) return {};
    if (!disk_.may_change(life_)) return killed();
    disk_.segments_.at(number).is_retired = true;
    return {};
  }
  Result<void> remove(std::uint64_t number) override {
    if (!disk_.segments_.contains(number)) return {};
    if (!disk_.may_change(life_)) return killed();
    disk_.segments_.erase(number);
    return {};
  }

 private:
  static Error killed() { return {Errc::kCancelled, "the process was killed"}; }

  LogDisk& disk_;
  const std::int64_t life_;
};

std::unique_ptr<LogFiles> LogDisk::open() {
  changes_left_.reset();
  has_room_ = false;
  return std::make_unique<View>(*this, ++life_);
}

bool LogDisk::may_change(std::int64_t life) {
  if (life != life_ || changes_left_ == 0) return false;
  if (changes_left_) --*changes_left_;
  return true;
}

void LogDisk::cut_power(SplitMix64& dice) {
  ++life_;
  for (auto& [number, segment] : segments_) {
    for (const std::size_t sector : std::exchange(segment.dirty, {})) {
      if (dice.next() % 2 == 0) continue;
      segment.on_disk.replace(sector * kSector, kSector, segment.now, sector * kSector, kSector);
    }
    segment.now = segment.on_disk;
  }
}

std::vector<std::uint64_t> LogDisk::named(bool is_retired) const {
  std::vector<std::uint64_t> found;
  for (const auto& [number, segment] : segments_) {
    if (segment.is_retired == is_retired) found.push_back(number);
  }
  return found;
}

}  // namespace runnel::writing::testing
