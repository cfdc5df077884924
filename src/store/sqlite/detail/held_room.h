#pragma once

#include <string>

#include "base/units.h"
#include "env/room_reserve.h"

namespace runnel::store::sqlite {

// What a log holds of its disk for the time when that is full: docs/design/store.md.
//
// Contract: hold() has blocks of the write-ahead log, which SQLite writes over again and again, and
//           the reserve, a file that does nothing but be there; each leaves others as much of the
//           disk as it takes. give_up() removes the reserve, and holds what it can of it for the
//           write-ahead log; false when there was none.
// Threads:  the log's.
class HeldRoom {
 public:
  explicit HeldRoom(const std::string& path);

  void hold() const;
  bool give_up() const;
  // Whether what may wait must: so little is left on the disk.
  bool is_short() const;

 private:
  void hold_log(Bytes size) const;

  std::string folder_;
  std::string write_ahead_;
  env::RoomReserve reserve_;
};

}  // namespace runnel::store::sqlite
