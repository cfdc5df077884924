#pragma once

#include <string>
#include <utility>

namespace runnel::env {

// Inodes that are held on a file system for the time when it has none left: a folder of empty
// files.
//
// Contract: hold() makes what is missing of the folder and its `count` files, and does nothing
//           while the file system has less than twice as many inodes free, or has no fixed number
//           of them. give_up() removes the files, then the folder; false when there was none.
//           What else is in the folder, or has its name, is left alone.
// Threads:  one.
class InodeReserve {
 public:
  InodeReserve(std::string folder, int count) : folder_(std::move(folder)), count_(count) {}

  void hold() const;
  bool give_up() const;

 private:
  std::string folder_;
  int count_;
};

}  // namespace runnel::env
