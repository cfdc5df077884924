#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "async/event_loop.h"
#include "fuse/error_notices.h"
#include "fuse/kernel_listing.h"
#include "fuse/known_nodes.h"
#include "fuse/listing_places.h"
#include "fuse/request_answers.h"
#include "fuse/written_files.h"
#include "writing/branch.h"
#include "writing/branch_files.h"

namespace runnel::fuse {

// Answers the kernel's requests for the files of a branch, which it also changes.
// docs/design/rw_mount.md.
//
// Contract: every request that is begun is answered as RequestAnswers does. What was changed is
//           given to the kernel's memory before its answer, so that the next server has it. A
//           change of a name that the kernel asks for again is done once.
// Threads:  the loop's only.
// Lifetime: what it is made of outlives it. close() is awaited before destruction; what is under
//           way then is answered first.
class BranchService {
 public:
  using Handle = WrittenFiles::Handle;
  using Inode = volume::Inode;
  struct Parts {
    async::EventLoop& loop;
    writing::Branch& branch;
    writing::BranchFiles& files;
    ErrorNotices& notices;
    std::uint64_t connection =
        0;                    // To the kernel, by chance: as one before had it, who takes over.
    Handle first_handle = 0;  // By chance.
    // Waits until what is not published has room for that many bytes more.
    std::function<Async<void>(std::size_t)> room;
    // Called when the log has failed, which is then to begin anew.
    std::function<void()> log_failed;
    // Publishes what was committed: the version.
    std::function<Async<std::string>()> publish;
  };
  explicit BranchService(Parts parts);

  // From now on nothing can be changed, as of a file system that is read alone.
  void refuse_changes() { refuses_changes_ = true; }

  // Each begins the answer to a request.
  void look_up(Request request, Inode folder, const std::string& name);
  void attributes(Request request, Inode inode);
  // `file`: by which it was asked for; none: by its name.
  void set_attributes(Request request, Inode inode, writing::BranchFiles::NewAttributes what,
                      std::optional<Handle> file);
  void read_link(Request request, Inode inode);
  void make(Request request, writing::Place at, writing::BranchFiles::NewNode node);
  void link(Request request, Inode inode, writing::Place at);
  void remove(Request request, writing::Place at, volume::NodeKind kind);
  void rename(Request request, writing::Place from, writing::Place to,
              writing::BranchFiles::RenameMode how);
  // `flags`: as open(2) has them.
  void open(Request request, Inode file, int flags);
  void make_and_open(Request request, writing::Place at, writing::BranchFiles::NewNode node,
                     int flags);
  void read(Request request, Inode file, std::uint64_t offset, std::uint64_t length);
  void write(Request request, Inode file, Handle by, std::uint64_t offset, std::string bytes);
  void flush(Request request, Inode file, Handle by);
  void release(Request request, Inode file, Handle by);
  // What was done to a file, or to a folder, and all before it.
  void sync(Request request, Inode inode, Handle by);
  // Entries from `place` on, which is 0 or one that an entry came with, as fit in `size` bytes.
  void list(Request request, Inode folder, std::uint64_t place, std::size_t size,
            Attributes attributes);
  void totals(Request request);
  void publish(Request request);
  void forget(Inode inode, std::uint64_t times);

  Async<void> close() { return answers_.close(); }

 private:
  writing::RequestId id_of(Request request) const;
  // The kernel's memory has all that was changed, or the disk.
  Async<void> written();
  Async<void> durable();
  Async<void> once_begun_anew(Error error, std::uint64_t begun_anew);
  void answer_entry(const Waiting& waiting, const writing::FileFound& found);
  // With a handle, of what was just made or found, or, null, was known before.
  void give_handle(const Waiting& waiting, const writing::FileFound* made, int flags);
  // Waits until a change of about so many bytes can be made. A disk that is full is told here.
  using Purpose = writing::WriteLog::Purpose;
  Async<void> ready(std::size_t bytes, Purpose purpose = Purpose::kGrowth);
  // Who is to be asked whether the change is still wanted. After it the answer comes by the work.
  static writing::Asker asker_of(const Waiting& waiting, writing::RequestId id = {});
  // As a folder of a group gives it to what is made in it.
  Async<writing::BranchFiles::NewNode> inherited(writing::Place at,
                                                 writing::BranchFiles::NewNode node);

  Async<void> answer_look_up(Waiting waiting, Inode folder, std::string name);
  Async<void> answer_attributes(Waiting waiting, Inode inode);
  Async<void> answer_set_attributes(Waiting waiting, Inode inode,
                                    writing::BranchFiles::NewAttributes what,
                                    std::optional<Handle> file);
  Async<void> answer_read_link(Waiting waiting, Inode inode);
  Async<void> answer_make(Waiting waiting, writing::RequestId id, writing::Place at,
                          writing::BranchFiles::NewNode node);
  Async<void> answer_link(Waiting waiting, writing::RequestId id, Inode inode, writing::Place at);
  Async<void> answer_remove(Waiting waiting, writing::RequestId id, writing::Place at,
                            volume::NodeKind kind);
  Async<void> answer_rename(Waiting waiting, writing::RequestId id, writing::Place from,
                            writing::Place to, writing::BranchFiles::RenameMode how);
  Async<void> answer_open(Waiting waiting, Inode file, int flags);
  Async<void> answer_make_and_open(Waiting waiting, writing::RequestId id, writing::Place at,
                                   writing::BranchFiles::NewNode node, int flags);
  Async<void> answer_read(Waiting waiting, Inode file, std::uint64_t offset, std::uint64_t length);
  Async<void> answer_write(Waiting waiting, Inode file, Handle by, std::uint64_t offset,
                           std::string bytes);
  Async<void> answer_flush(Waiting waiting, Inode file, Handle by, bool has_written);
  Async<void> answer_sync(Waiting waiting, Inode inode, Handle by);
  Async<void> answer_publish(Waiting waiting);
  Async<void> answer_list(Waiting waiting, Inode folder, std::uint64_t place, std::size_t size,
                          Attributes attributes);
  // The name behind which a list goes on at a place; none: where the folder begins.
  Async<std::string> name_before(Inode folder, std::uint64_t place);

  async::EventLoop& loop_;
  writing::Branch& branch_;
  writing::BranchFiles& files_;
  const std::uint64_t connection_;
  const std::function<Async<void>(std::size_t)> room_;
  const std::function<void()> log_failed_;
  const std::function<Async<std::string>()> publish_;
  bool refuses_changes_ = false;
  KnownNodes known_;
  WrittenFiles written_;
  ListingPlaces places_;
  RequestAnswers answers_;
};

}  // namespace runnel::fuse
