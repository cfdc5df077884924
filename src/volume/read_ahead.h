#pragma once

#include <cstdint>
#include <optional>

#include "volume/node.h"
#include "volume/recently_used.h"

namespace runnel::volume {

// Which bytes of a file its reader will want next, by what was read before. Reads need not be in
// order: a kernel sends several at a time, and a reader may skip a little or go back a little.
//
// Contract: who begins at the beginning, or goes on where a read has ended, reads in sequence: then
//           kGrowth times as much as before is to be ahead of it, up to `window_max`. Who jumps has
//           nothing ahead until it goes on from there.
// Threads:  none of its own.
// Limits:   of kFilesMax files; others begin anew.
class ReadAhead {
 public:
  static constexpr std::uint64_t kWindowMin = 1 << 20;
  static constexpr std::uint64_t kGrowth = 4;
  static constexpr std::uint64_t kWindowsUntilMore = 16;  // That are read after a loss.
  static constexpr std::uint64_t kSkipMax = 2 << 20;      // Both ways.
  static constexpr std::size_t kFilesMax = 1'024;

  explicit ReadAhead(std::uint64_t window_max) : window_max_(window_max), files_(kFilesMax) {}

  struct Advice {
    // Of the file; empty: nothing new.
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool was_told = false;  // What is read was told before.
    bool jumped = false;    // What was ahead of the earlier reads will not be wanted.
    bool is_alone = false;  // Nothing beside it is likely to be wanted.
  };
  // After a read of [offset, offset + length).
  Advice after_read(Inode file, std::uint64_t offset, std::uint64_t length);
  // After one up to `end` of what was told and had to go before it was read: what follows is told
  // anew, and less at a time until much was read without such a loss.
  Advice tell_again(Inode file, std::uint64_t end);

 private:
  struct Reader {
    std::uint64_t next = 0;    // Where the reads so far have ended.
    std::uint64_t window = 0;  // Bytes to be ahead of that; 0: it jumps about.
    std::uint64_t ahead = 0;   // Up to here was told.
    std::uint64_t most = 0;    // Of the window: what is read before it has to go.
    std::uint64_t read = 0;    // Bytes since it was set.
  };
  Advice begin(Inode file, std::uint64_t offset, std::uint64_t end, bool jumped);
  Advice go_on(Reader& reader, std::uint64_t end) const;
  static Advice extend(Reader& reader);

  const std::uint64_t window_max_;
  RecentlyUsed<Inode, Reader> files_;
};

}  // namespace runnel::volume
