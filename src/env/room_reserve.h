#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/units.h"

namespace runnel::env {

// Room that is held on a disk for the time when it is full: a file that does nothing but be there.
//
// Contract: hold() makes the file where it is not there, all of it allocated, and does nothing
//           while the disk has less than twice that room: what is left then is for others.
//           give_up() removes it; false when there was none. What else has its name is left alone.
// Threads:  one.
class RoomReserve {
 public:
  RoomReserve(std::string path, Bytes size) : path_(std::move(path)), size_(size) {}

  void hold() const;
  bool give_up() const;

 private:
  enum class State : std::uint8_t {
    kNone,
    kHollow,  // Its length and not its blocks.
    kWhole,
    kForeign,  // Something else has its name, and stays.
  };

  State look() const;
  void make(const std::string& part) const;

  std::string path_;
  Bytes size_;
};

}  // namespace runnel::env
