#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/check.h"
#include "volume/node.h"

namespace runnel::fuse {

// The nodes that the kernel was told of, and how often: it forgets one by that number.
//
// Why: a server before this one may have told the kernel of a node, too, and what it has counted
//      died with it. The kernel forgets a node with the number of both, so one that is forgotten
//      at least as often as this server has told of it is not known any more.
class KnownNodes {
 public:
  void add(volume::Inode inode) { ++told_[inode]; }
  // Whether the kernel does not know it any more.
  bool forget(volume::Inode inode, std::uint64_t times) {
    CHECK(inode != 0, "the kernel forgets what is no node");
    const auto found = told_.find(inode);
    if (found == told_.end()) return true;
    if (found->second > times) {
      found->second -= times;
      return false;
    }
    told_.erase(found);
    return true;
  }

 private:
  std::unordered_map<volume::Inode, std::uint64_t> told_;
};

}  // namespace runnel::fuse
