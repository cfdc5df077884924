#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "async/event_loop.h"
#include "fuse/error_notices.h"
#include "fuse/kernel_listing.h"
#include "fuse/request_answers.h"
#include "volume/file_reader.h"
#include "volume/folder_reader.h"
#include "volume/pack_cache.h"
#include "volume/snapshot.h"

namespace runnel::fuse {

// Answers the kernel's requests for files of one version, whose inodes are those of the mount.
//
// Contract: every request that is begun is answered as RequestAnswers does, with EIO when its bytes
//           cannot be had.
// Threads:  the loop's only.
// Lifetime: loop, snapshot, cache and notices outlive it. close() is awaited before destruction;
//           what is under way then is answered first.
class FileService {
 public:
  FileService(async::EventLoop& loop, volume::Snapshot& snapshot, volume::PackCache& cache,
              ErrorNotices& notices);

  // Each begins the answer to a request.
  void look_up(Request request, volume::Inode folder, const std::string& name);
  void attributes(Request request, volume::Inode inode);
  void read_link(Request request, volume::Inode inode);
  void read(Request request, volume::Inode file, std::uint64_t offset, std::uint64_t length);
  // Entries from `place` on, which is 0 or one that an entry came with, as fit in `size` bytes.
  void list(Request request, volume::Inode folder, std::uint64_t place, std::size_t size,
            Attributes attributes);
  void totals(Request request);
  Async<void> close() { return answers_.close(); }

 private:
  Async<void> answer_look_up(Waiting waiting, volume::Inode folder, std::string name);
  Async<void> answer_attributes(Waiting waiting, volume::Inode inode);
  Async<void> answer_read_link(Waiting waiting, volume::Inode inode);
  Async<void> answer_read(Waiting waiting, volume::Inode file, std::uint64_t offset,
                          std::uint64_t length);
  Async<void> answer_list(Waiting waiting, volume::Inode folder, std::uint64_t place,
                          std::size_t size, Attributes attributes);

  volume::Snapshot& snapshot_;
  volume::FileReader files_;
  volume::FolderReader folders_;
  RequestAnswers answers_;
};

}  // namespace runnel::fuse
