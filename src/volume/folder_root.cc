#include "volume/folder_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "env/files.h"

namespace runnel::volume {
namespace {

using async::UniqueFd;

constexpr std::size_t kTargetMax = 4'096;
constexpr std::uint64_t kNoLinks = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

UniqueFd open_without_links(int folder, const std::string& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

Error failed(const std::string& verb, const std::string& path, int reason) {
  if (reason == ELOOP || reason == EXDEV || reason == ENOTDIR) {
    return Error(Errc::kConflict, path + " lies behind a link, or what is no folder")
        .with_value(path)
        .with_hint(
            "links are not followed, and somebody may have put one there meanwhile: look "
            "at it, and try again");
  }
  return errno_error(verb + " " + path, reason);
}

}  // namespace

Result<FolderRoot> FolderRoot::open(const std::string& path, bool is_real) {
  const int flags = O_PATH | O_DIRECTORY;
  UniqueFd root = is_real ? open_without_links(AT_FDCWD, path, flags, kNoLinks)
                          : UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!root.valid()) return failed("open", path, errno);
  return FolderRoot(path, std::move(root));
}

std::pair<std::string, std::string> FolderRoot::split(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return {path.empty() ? "." : "/", ""};
  const std::string whole = path.substr(0, end + 1);
  const std::size_t slash = whole.rfind('/');
  const std::string name = whole.substr(slash + 1);  // All of it, where there is no slash.
  if (name == "." || name == "..") return {whole, ""};
  if (slash == std::string::npos) return {".", whole};
  return {slash == 0 ? "/" : whole.substr(0, slash), name};
}

std::string FolderRoot::place(const std::string& below) const {
  if (below.empty()) return path_;
  return path_.ends_with('/') ? path_ + below : path_ + "/" + below;
}

std::string FolderRoot::name_of(const std::string& below) {
  return below.substr(below.rfind('/') + 1);
}

Result<UniqueFd> FolderRoot::open_below(const std::string& below, int flags) const {
  UniqueFd opened = open_without_links(root_.get(), below.empty() ? "." : below, flags,
                                       kNoLinks | RESOLVE_BENEATH);
  if (!opened.valid()) return failed("open", place(below), errno);
  return opened;
}

Result<int> FolderRoot::folder_of(const std::string& below) {
  if (below.empty()) return Error(Errc::kConflict, path_ + " is a folder").with_value(path_);
  const std::size_t slash = below.rfind('/');
  if (slash == std::string::npos) return root_.get();
  std::string folder = below.substr(0, slash);
  if (last_folder_.valid() && folder == last_) return last_folder_.get();
  last_folder_ = TRY(open_below(folder, O_PATH | O_DIRECTORY));
  last_ = std::move(folder);
  return last_folder_.get();
}

Result<struct stat> FolderRoot::look(const std::string& below) {
  struct stat info = {};
  const int done = below.empty() ? ::fstatat(root_.get(), "", &info, AT_EMPTY_PATH)
                                 : ::fstatat(TRY(folder_of(below)), name_of(below).c_str(), &info,
                                             AT_SYMLINK_NOFOLLOW);
  if (done != 0) return failed("look at", place(below), errno);
  return info;
}

Result<std::string> FolderRoot::target_of(const std::string& below) {
  std::string target(kTargetMax, '\0');
  const ssize_t size =
      ::readlinkat(TRY(folder_of(below)), name_of(below).c_str(), target.data(), target.size());
  if (size < 0) return failed("read the link", place(below), errno);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Result<std::vector<std::string>> FolderRoot::names(const std::string& below) const {
  UniqueFd folder = TRY(open_below(below, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(folder.get()), ::closedir);
  if (!dir) return failed("list", place(below), errno);
  (void)folder.release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) return failed("list", place(below), errno);
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace runnel::volume
