#pragma once

#include <string>
#include <utility>

#include "base/units.h"

namespace runnel::env {

// Room that is held on a disk for the time when it is full: a file that does nothing but be there.
//
// Contract: hold() makes the file, all of it allocated, and does nothing while the disk has less
//           than twice that room: what is left then is for others. give_up() removes it; false when
//           there was none. A failure of either leaves no file, or the one that was there.
// Threads:  one.
class RoomReserve {
 public:
  RoomReserve(std::string path, Bytes size) : path_(std::move(path)), size_(size) {}

  void hold();
  bool give_up();

 private:
  bool is_whole() const;
  bool allocate() const;

  std::string path_;
  Bytes size_;
  bool held_ = false;  // By this object; a file of an earlier process is found by hold().
};

}  // namespace runnel::env
