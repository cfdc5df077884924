#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "async/async.h"
#include "volume/snapshot.h"
#include "writing/branch.h"
#include "writing/refusal.h"

namespace runnel::writing {

// The version that a branch is over, as its files are read.
struct BranchBase {
  std::string version;  // As the branch names it; empty: a volume without any.
  std::shared_ptr<volume::Snapshot> snapshot;
  // Bytes of a file of it, as far as there are any.
  std::function<Async<std::string>(Inode file, std::uint64_t offset, std::uint64_t length)> read;
};

// What programs see of a node.
struct FileAttributes {
  volume::NodeKind kind = volume::NodeKind::kFile;
  std::uint32_t mode = 0;  // Permission bits, 07777.
  std::uint64_t links = 1;
  std::uint64_t size = 0;  // Bytes of a file, or of a link's target.
  std::optional<std::uint32_t> owner;
  std::optional<std::uint32_t> group;
  Moment modified;
  Moment accessed;
  Moment changed;
};
FileAttributes attributes_of(const volume::Node& node);
struct FileFound {
  Inode inode = 0;
  FileAttributes attributes;
};
struct FileEntry {
  std::string name;
  volume::Name what;
};

// Who asks for a change: the request, by which it is known when it comes again, and whether it is
// still wanted, which is asked in the turn in which the change is made. Empty: it is.
struct Asker {
  Asker() = default;
  Asker(RequestId id) : request(id) {}  // NOLINT(google-explicit-constructor)
  Asker(RequestId id, std::function<bool()> still_wanted)
      : request(id), is_wanted(std::move(still_wanted)) {}

  RequestId request;
  std::function<bool()> is_wanted;
};

// The files of a branch, as programs see and change them: its overlay over its base.
// docs/design/branch_files.md.
//
// Contract: what a program may not have is refused as POSIX says, by Refusal, and changes nothing.
//           What has returned is in the log, in the order of the changes; it outlives a kill once
//           written() has returned, and a power loss after durable(). A request that comes again,
//           by its id, is answered as it was; one that is not wanted any more changes nothing:
//           kCancelled.
// Threads:  the loop's.
// Lifetime: the branch outlives it.
// Limits:   where each node is that a program has looked up is remembered until forget().
class BranchFiles {
 public:
  using Clock = std::function<Moment()>;

  static constexpr std::size_t kNameBytesMax = 255;
  static constexpr std::size_t kNamesMax = 1'024;  // Of a file: all are in one record.
  static constexpr std::uint64_t kFileBytesMax = (std::uint64_t{1} << 63) - 1;

  BranchFiles(Branch& branch, BranchBase base, Clock clock);

  // The branch is over another version from now on: Published was told in this turn, or will be.
  void rebase(BranchBase base);
  // The base of a life before, of which an open file without a name has bytes.
  void add_earlier(BranchBase base) { earlier_.insert(earlier_.begin(), std::move(base)); }

  const BranchBase& base() const { return base_; }

  // --- Looking. kNoEntry for a node that nobody has.
  Async<FileAttributes> attributes(Inode inode);
  // None: there is no such name.
  Async<std::optional<FileFound>> look_up(Inode folder, std::string name);
  // Names behind `after` in byte order, at most `max`; none at the end.
  Async<std::vector<FileEntry>> list(Inode folder, std::string after, std::size_t max);
  // Bytes of a file from `offset` on: `length`, or up to its end.
  Async<std::string> read(Inode file, std::uint64_t offset, std::uint64_t length);
  Async<std::string> target(Inode link);

  // --- Changing.
  struct NewNode {
    volume::NodeKind kind = volume::NodeKind::kFile;
    std::uint32_t mode = 0;
    std::optional<std::uint32_t> owner;
    std::optional<std::uint32_t> group;
    std::string target;  // Of a link.
  };
  Async<FileFound> create(Asker asker, Place at, NewNode node);
  Async<FileFound> link(Asker asker, Inode inode, Place at);
  // `kind`: whether a folder is to go (rmdir), or what is none (unlink).
  Async<void> remove(Asker asker, Place at, volume::NodeKind kind);
  enum class RenameMode : std::uint8_t { kReplace, kNoReplace, kExchange };
  Async<void> rename(Asker asker, Place from, Place to, RenameMode how);
  Async<void> write(Inode file, std::uint64_t offset, std::string bytes, Asker asker = {});
  struct NewAttributes {
    std::optional<std::uint64_t> size;
    std::optional<std::uint32_t> mode;
    std::optional<std::uint32_t> owner;
    std::optional<std::uint32_t> group;
    std::optional<Moment> modified;
    std::optional<Moment> accessed;
  };
  Async<FileAttributes> set_attributes(Inode inode, NewAttributes what, Asker asker = {});
  // The bytes that a version gets: at the close of who wrote, and at a sync.
  Async<void> commit(Inode file);

  // The kernel does not know the node any more: one without a name is gone.
  Result<void> forget(Inode inode);

 private:
  // What stands at a name, merged of overlay and base.
  struct There {
    Inode inode = 0;                      // 0: nothing.
    std::vector<std::string> base_names;  // Of a folder: those that its base has.
  };

  // Of a folder.
  struct Part {
    std::vector<FileEntry> entries;
    bool is_last = false;
    std::string until;  // The last name of the base that was read.
  };

  const Overlay& overlay() const { return branch_.overlay(); }
  Result<LoggedRecord> change(const Asker& asker, Change change);
  Async<std::optional<FileFound>> look_up_once(Place at);
  Async<Part> list_once(Inode folder, std::string after, std::size_t max);
  void add_changed(const OverlayNode& folder, const std::string& after, const Part& part,
                   std::map<std::string, volume::Name>& merged) const;
  Async<std::string> read_once(Inode file, std::uint64_t offset, std::uint64_t length);
  // `version`: empty for the base of now.
  Async<std::string> read_base(std::string version, Inode file, std::uint64_t offset,
                               std::uint64_t length);
  Async<Adopt> adopt_of(Inode inode);
  // The node is in the overlay afterwards, with all folders above it.
  Async<void> adopt(Inode inode);
  Async<std::vector<Place>> places_of(Inode inode, const volume::Node& node);
  // What is at these names, all in the overlay, with their folders: nothing has changed since when
  // it returns.
  Async<std::vector<There>> look_at(std::vector<Place> places);
  Async<std::vector<There>> look_at_each(std::vector<Place> places);
  Async<There> look_at_once(Place at);
  bool is_as_looked_at(const Place& at, const There& what) const;
  Async<std::optional<Inode>> name_in_base(Place at);
  Async<volume::Node> node_in_base(Inode inode);
  bool is_empty(const There& folder) const;
  bool is_below(Inode inode, Inode folder) const;
  FileFound found(Inode inode) const;
  Result<void> check_rename(const Place& from, const Place& to, const There& moved,
                            const There& replaced, RenameMode how) const;
  void note_place(Inode inode);

  Branch& branch_;
  BranchBase base_;
  std::uint64_t rebased_ = 0;        // How often: one version may have several manifests.
  std::vector<BranchBase> earlier_;  // Bases before, the last one last.
  const Clock clock_;
  std::unordered_map<Inode, Place> places_;  // Of nodes with one name, as they were met.
  Inode last_inode_ = 0;
};

}  // namespace runnel::writing
