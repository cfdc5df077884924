#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuse/waiting_requests.h"
#include "volume/node.h"

struct fuse_entry_param;

namespace runnel::fuse {

enum class Attributes : std::uint8_t { kNo, kYes };

// Entries of a folder for the kernel, as many as fit. "." and ".." come first.
class KernelListing {
 public:
  static constexpr std::uint64_t kDots = 2;  // Places that "." and ".." have.

  KernelListing(std::size_t bytes, Attributes attributes)
      : bytes_(bytes), attributes_(attributes) {}

  // False when it does not fit. `place`: where a list goes on behind it.
  bool add(const std::string& name, const fuse_entry_param& entry, std::uint64_t place);
  // Those behind `place`.
  bool add_dots(volume::Inode folder, std::uint64_t place);
  // About as many of them fit: the least that each takes.
  std::size_t most() const;
  // Whether the kernel has it.
  bool send(Request request) const;

 private:
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  Attributes attributes_;
};

}  // namespace runnel::fuse
