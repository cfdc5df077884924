#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "async/event_loop.h"
#include "async/gate.h"
#include "volume/file_reader.h"
#include "volume/folder_reader.h"
#include "volume/pack_cache.h"
#include "volume/snapshot.h"

// As libfuse has it.
using fuse_req_t = struct fuse_req*;

namespace runnel::fuse {

// Answers the kernel's requests for files of one version, whose inodes are those of the mount.
//
// Contract: every request that is begun is answered, in any order; with EIO when its bytes cannot
//           be had, or ESTALE once the version is held no more.
// Threads:  the loop's only.
// Lifetime: loop, snapshot and cache outlive it. close() is awaited before destruction; what is
//           under way then is answered first.
class FileService {
 public:
  FileService(async::EventLoop& loop, volume::Snapshot& snapshot, volume::PackCache& cache);

  enum class Attributes : std::uint8_t { kNo, kYes };

  // Each begins the answer to a request.
  void look_up(fuse_req_t request, volume::Inode folder, std::string name);
  void attributes(fuse_req_t request, volume::Inode inode);
  void read_link(fuse_req_t request, volume::Inode inode);
  void read(fuse_req_t request, volume::Inode file, std::uint64_t offset, std::uint64_t length);
  // Entries from `place` on, which is 0 or one that an entry came with, as fit in `size` bytes.
  void list(fuse_req_t request, volume::Inode folder, std::uint64_t place, std::size_t size,
            Attributes attributes);
  void totals(fuse_req_t request);
  Async<void> close() { return answering_.close(); }

 private:
  class Listing;

  void answer(fuse_req_t request, Async<void> work);
  Async<void> answer_or_fail(fuse_req_t request, Async<void> work);
  Async<void> answer_look_up(fuse_req_t request, volume::Inode folder, std::string name);
  Async<void> answer_attributes(fuse_req_t request, volume::Inode inode);
  Async<void> answer_read_link(fuse_req_t request, volume::Inode inode);
  Async<void> answer_read(fuse_req_t request, volume::Inode file, std::uint64_t offset,
                          std::uint64_t length);
  Async<void> answer_list(fuse_req_t request, volume::Inode folder, std::uint64_t place,
                          std::size_t size, Attributes attributes);

  async::EventLoop& loop_;
  volume::Snapshot& snapshot_;
  volume::FileReader files_;
  volume::FolderReader folders_;
  async::Gate answering_;
};

}  // namespace runnel::fuse
