#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

struct fuse_session;

namespace runnel::fuse {

inline constexpr std::size_t kFirstMessageMax = 64 << 10;

// A volume's file system in a folder, and the connection to the kernel that whoever serves it
// needs.
//
// Contract: the mount goes with the last copy of the descriptor, at once and whoever uses it, when
//           this is destroyed, unless leave_dead() was called; unmount_folder() takes it away
//           while nobody uses it.
// Threads:  none of its own. create() may start fusermount3 and wait for it.
class MountPoint {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };
  // `source`: what the mount is called in the list of mounts. kUnsupported where there is no
  // /dev/fuse, kDenied where this user may not open it.
  static Result<std::unique_ptr<MountPoint>> create(const std::string& folder,
                                                    const std::string& source,
                                                    Access access = Access::kRead);
  ~MountPoint();
  MountPoint(const MountPoint&) = delete;
  MountPoint& operator=(const MountPoint&) = delete;

  // Ends the connection and leaves the mount in its folder: who reads, or waits for a server that
  // does not answer, gets an error, and nobody what lies below. Only root can end a connection that
  // another process has, too: for others it ends with that process.
  void leave_dead();

  const std::string& folder() const { return folder_; }
  // Of /dev/fuse.
  int descriptor() const;
  // Whether it is what is seen in the folder: it may be gone, or another one lie over it.
  bool is_on_top() const;
  // Whether somebody has taken it away, so that there is nothing to serve.
  bool is_gone() const;
  // The kernel's first message, which whoever serves the mount begins with. Waits for it.
  Result<std::string> first_message() const;

 private:
  MountPoint(fuse_session* session, std::string folder);

  fuse_session* session_;  // That mounts; it serves nothing.
  std::string folder_;
  std::string id_;  // As Mounted has it.
  bool stays_ = false;
};

// A mount of ours.
struct Mounted {
  std::string id;  // Of this mount, while it is there.
  std::string folder;
  std::string source;
  bool is_written = false;  // Whether it may be.
};
// All that this process sees. Touches none of them.
Result<std::vector<Mounted>> mounts();
// The one that is seen in the folder, if any.
std::optional<Mounted> mount_in(const std::string& folder);
// The same from the text of /proc/self/mountinfo.
std::vector<Mounted> mounts_in(std::string_view mountinfo);

// Takes the mount in a folder away. kConflict while somebody uses it, unless it is lazy: then it is
// out of sight at once, and ends with its last user.
enum class Unmount : std::uint8_t { kUnused, kLazy };
Result<void> unmount_folder(const std::string& folder, Unmount how);

}  // namespace runnel::fuse
