#pragma once

#include <string>

#include "base/units.h"
#include "env/room_reserve.h"

namespace runnel::store::sqlite {

// What a log holds of its disk for the time when that is full: docs/design/store.md.
//
// Contract: hold() sees to it that blocks are allocated for the write-ahead log and its index, and
//           that there is the reserve, a file that does nothing but be there; neither takes more
//           than half of what is free. give_up() removes the reserve; false when there was none.
//           hold_given_up() then allocates what it can get of it beyond the end of the write-ahead
//           log, before others take it.
// Threads:  the log's.
class HeldRoom {
 public:
  explicit HeldRoom(const std::string& path);

  void hold() const;
  bool give_up() const;
  void hold_given_up() const;
  // Whether what may wait must: so little is left on the disk.
  bool is_short() const;

 private:
  void hold_file(const std::string& path, Bytes size) const;

  std::string folder_;
  std::string write_ahead_;
  std::string index_;
  env::RoomReserve reserve_;
};

}  // namespace runnel::store::sqlite
