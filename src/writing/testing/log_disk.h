#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "writing/log_files.h"

namespace runnel::writing::testing {

// The disk under a log: what is on it outlives the processes that use it. A power loss takes what
// was not synced, sector by sector, in any order, and all that a failed sync was to bring there.
//
// Threads: one at a time.
class LogDisk {
 public:
  static constexpr std::size_t kSector = 512;

  // Of a process that has the log from now on; one before it changes nothing any more.
  std::unique_ptr<LogFiles> open();
  void cut_power(SplitMix64& dice);
  // From now on nothing changes, as after a kill: after so many more changes.
  void kill_after(std::int64_t changes) { changes_left_ = changes; }
  bool is_killed() const { return changes_left_ == 0; }
  void set_full(bool is_full) { is_full_ = is_full; }
  // Bytes that a new segment may have; more is refused.
  void set_room(std::uint64_t bytes) { room_ = bytes; }
  // The next sync, or write, fails.
  void fail_next_sync() { fails_sync_ = true; }
  void fail_next_write() { fails_write_ = true; }
  // As the kernel's memory has room, or not.
  void set_writes_at_once(bool at_once) { writes_at_once_ = at_once; }
  // Nothing fails from here on.
  void heal() { is_full_ = fails_sync_ = fails_write_ = false; }

  // The bytes of a segment, to be damaged.
  std::string& bytes_of(std::uint64_t number) { return segments_.at(number).now; }
  void lose(std::uint64_t number) { segments_.erase(number); }
  // As if it had not been removed.
  void keep(const LogDisk& from, std::uint64_t number) {
    segments_[number] = from.segments_.at(number);
  }
  std::vector<std::uint64_t> numbers() const { return named(false); }
  std::vector<std::uint64_t> retired() const { return named(true); }
  std::int64_t syncs() const { return syncs_; }
  // How the room of the last segment was held that was made.
  LogFiles::Room room_of_last() const { return room_of_last_; }

 private:
  class View;
  struct Segment {
    std::string now;              // As the kernel has it.
    std::string on_disk;          // What a power loss leaves,
    std::set<std::size_t> dirty;  // but for these sectors, any of which may have come there.
    bool is_retired = false;
  };

  bool may_change(std::int64_t life);
  std::vector<std::uint64_t> named(bool is_retired) const;

  std::map<std::uint64_t, Segment> segments_;
  std::int64_t life_ = 0;
  std::optional<std::int64_t> changes_left_;
  bool is_full_ = false;
  std::uint64_t room_ = ~std::uint64_t{0};
  bool has_room_ = false;  // Held for a segment.
  LogFiles::Room room_ahead_ = LogFiles::Room::kWritten;
  LogFiles::Room room_of_last_ = LogFiles::Room::kWritten;
  bool fails_sync_ = false;
  bool fails_write_ = false;
  bool writes_at_once_ = false;
  std::int64_t syncs_ = 0;
};

}  // namespace runnel::writing::testing
