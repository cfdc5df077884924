#include "env/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "env/detail/descriptor.h"

namespace runnel::env {
namespace {

using detail::Descriptor;

// Each level takes a descriptor and a part of the stack; what is deeper is moved up first.
constexpr int kDepthMax = 64;
constexpr mode_t kOwner = 0700;

Error failed(const std::string& path, int reason) {
  if (reason == EXDEV || reason == EBUSY) {
    return Error(Errc::kConflict, path + " is a mount, whose files are not removed")
        .with_value(path)
        .with_hint("unmount it: umount " + path);
  }
  return errno_error("remove " + path, reason);
}

// The folder itself: no link, and on the same mount as its parent.
Descriptor open_below(int parent, const std::string& name, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return Descriptor(
      static_cast<int>(::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof how)));
}

// A folder that its owner has closed to himself is opened by its number, which no link can take the
// place of.
Descriptor open_to_empty(int parent, const std::string& name) {
  Descriptor folder = open_below(parent, name, O_RDONLY);
  struct stat status{};
  const bool opened = folder.is_open();
  if (!opened && errno != EACCES) return folder;
  if (opened && (::fstat(folder.number(), &status) != 0 || (status.st_mode & kOwner) == kOwner)) {
    return folder;
  }
  const Descriptor itself = open_below(parent, name, O_PATH);
  if (!itself.is_open()) return folder;
  const std::string link = "/proc/self/fd/" + std::to_string(itself.number());
  if (::chmod(link.c_str(), kOwner) != 0) return folder;
  return opened ? std::move(folder) : open_below(parent, name, O_RDONLY);
}

Result<std::vector<std::string>> names_in(int folder, const std::string& path) {
  const int copy = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (!dir) return failed(path, errno);
  ::rewinddir(dir.get());
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) return failed(path, errno);
    if (entry == nullptr) return names;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

class Removal {
 public:
  Result<void> remove(int parent, const std::string& name, const std::string& path, int depth) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return failed(path, errno);
    if (depth == kDepthMax) return move_up(parent, name, path);
    const Descriptor folder = open_to_empty(parent, name);
    if (!folder.is_open()) return errno == ENOENT ? Result<void>() : failed(path, errno);
    if (depth == 0) top_ = folder.number();
    // Somebody may still write into it, and what was moved up is in the top.
    for (int tries = 0; tries < kTriesMax;) {
      const std::int64_t moved = moved_;
      for (const std::string& entry : TRY(names_in(folder.number(), path))) {
        TRY(remove(folder.number(), entry, path + "/" + entry, depth + 1));
      }
      if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
      if (errno != ENOTEMPTY && errno != EEXIST) break;
      if (moved == moved_) ++tries;
    }
    return failed(path, errno);
  }

 private:
  static constexpr int kTriesMax = 16;

  Result<void> move_up(int parent, const std::string& name, const std::string& path) {
    const std::string deep =
        ".removed-" + std::to_string(::getpid()) + "-" + std::to_string(++moved_);
    if (::renameat(parent, name.c_str(), top_, deep.c_str()) == 0 || errno == ENOENT) return {};
    return failed(path, errno);
  }

  int top_ = -1;  // The tree's uppermost folder.
  std::int64_t moved_ = 0;
};

}  // namespace

Result<void> remove_tree(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return Error(Errc::kInvalid, "'" + path + "' is not removed");
  const std::string plain = path.substr(0, end + 1);
  const std::size_t slash = plain.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : plain.substr(0, slash + 1);
  const Descriptor parent(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.is_open()) return errno == ENOENT ? Result<void>() : failed(path, errno);
  return Removal().remove(parent.number(), plain.substr(slash + 1), plain, 0);
}

}  // namespace runnel::env
