#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "volume/extent_reader.h"
#include "volume/file_hash.h"
#include "volume/put_source.h"
#include "volume/volume.h"

namespace runnel::volume {

// What is at a place of a version, as a put into another volume reads it: cut as it is there.
//
// Contract: whoever made it holds a session of the version until close(). A file whose bytes are
//           not what its hash says is kCorrupt, and names it.
// Lifetime: volume and snapshot outlive it.
class VolumeSource final : public PutSource {
 public:
  // A file or link has `name` as its path; of a folder the entries come.
  VolumeSource(async::EventLoop& loop, Volume& volume, Snapshot& snapshot, Snapshot::Found found,
               std::string name, async::StopToken stop);

  Async<ReadBatch> next(async::Worker& worker) override;
  const std::vector<std::string>& passed_over() const override { return passed_over_; }
  std::optional<Node> root() const override { return root_; }
  Async<void> close() override { return reader_.close(); }

 private:
  // A folder whose entries are not all read yet.
  struct Level {
    Inode inode = 0;
    std::string after;
    std::vector<Snapshot::Entry> entries;
    std::size_t next = 0;
  };
  // A file, or the part of it that a batch has room for: so many of the batch's extents.
  struct Part {
    ReadEntry entry;
    std::size_t extents = 0;
    bool is_linked = false;
  };
  // What is to be fetched for a batch.
  struct Wanted {
    std::vector<Part> parts;
    std::vector<Extent> extents;
    std::uint64_t bytes = 0;
    bool is_last = false;
  };
  // A file of which the batches before have not had all.
  struct Rest {
    ReadEntry entry;
    std::vector<Extent> extents;
    std::size_t next = 0;
    bool is_linked = false;
  };

  Async<Wanted> gather();
  Async<bool> gather_next(Wanted& wanted);
  Async<void> take(Inode inode, Node node);
  void take_rest(Wanted& wanted);
  Result<ReadBatch> batch_of(Wanted wanted, std::vector<Result<std::string>> chunks);
  Result<void> check_whole(const ReadEntry& entry);

  Snapshot& snapshot_;
  WalkedFolders walked_;
  const async::StopToken stop_;
  ExtentReader reader_;
  std::optional<Node> root_;
  std::vector<Level> levels_;
  std::vector<std::string> path_;
  std::optional<Rest> rest_;
  FileHash hash_;  // The thread's: of the file that is under way.
  std::vector<std::string> passed_over_;
};

}  // namespace runnel::volume
