#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/split_mix.h"
#include "env/aligned_bytes.h"
#include "volume/cache_files.h"

namespace runnel::volume_sim {

inline constexpr std::uint64_t kDiskPage = env::AlignedBytes::kAlign;

// The disk under a cache: what is on it outlives the processes that use it. A write is a page after
// a page; the process may be killed between two of them, and the disk may fail or be full.
//
// Threads: one.
class CacheDisk {
 public:
  explicit CacheDisk(std::uint32_t segments) : segments_(segments) {}

  // Of a process that has the cache from now on; a process before it writes nothing any more.
  std::unique_ptr<volume::CacheFiles> open();
  // From now on no process writes, as after a kill: after so many more pages.
  void kill_after(std::int64_t pages) { pages_left_ = pages; }
  bool is_killed() const { return pages_left_ == 0; }
  // Reads and writes fail until they do not.
  void set_failing(bool is_failing) { is_failing_ = is_failing; }
  // The next write of so many bytes fails, and no other.
  void fail_write_of(std::uint64_t bytes) { fails_at_ = bytes; }
  void set_full(bool is_full) { is_full_ = is_full; }
  // Flips a bit of a page that has been written. Whether there is any.
  bool flip_a_bit(SplitMix64& dice);

  std::int64_t begun() const { return begun_; }      // Segments, each as often as it was begun.
  std::int64_t flipped() const { return flipped_; }  // Bits.

 private:
  class View;
  using Page = std::string;
  struct Segment {
    bool is_there = false;
    std::map<std::uint64_t, Page> pages;  // By their first bytes; others hold zeros.
  };

  bool may_write(std::int64_t life);
  Result<void> write(std::int64_t life, std::uint32_t segment, std::uint64_t place,
                     std::string_view bytes);
  Result<void> read(std::uint32_t segment, std::uint64_t place, std::span<char> bytes) const;

  std::vector<Segment> segments_;
  std::int64_t life_ = 0;
  std::optional<std::int64_t> pages_left_;
  bool is_failing_ = false;
  std::uint64_t fails_at_ = 0;  // Bytes of the write that is to fail; 0: none.
  bool is_full_ = false;
  std::int64_t begun_ = 0;
  std::int64_t flipped_ = 0;
};

}  // namespace runnel::volume_sim
