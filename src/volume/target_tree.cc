#include "volume/target_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "async/unique_fd.h"
#include "env/files.h"
#include "env/random.h"
#include "volume/digits.h"
#include "volume/extent.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kUnfinished = ".runnel-part-";
constexpr std::size_t kUnfinishedDigits = 16;

// A name that nobody has, as nobody guesses it.
std::string part_name() {
  return std::string(kUnfinished) + env::random_hex(env::real_random(), kUnfinishedDigits);
}

Error in_its_place(const std::string& path, const char* what) {
  return Error(Errc::kConflict, path + " is " + what)
      .with_value(path)
      .with_hint("remove it, or choose another place");
}

std::array<timespec, 2> times_of(const Node& node) {
  const timespec changed{static_cast<time_t>(node.changed), static_cast<long>(node.changed_nanos)};
  return {changed, changed};
}

bool is_hole(std::string_view bytes) {
  return bytes.size() == kHoleLeast && bytes.front() == '\0' &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

bool is_unfinished_name(std::string_view name) {
  return name.starts_with(kUnfinished) &&
         is_digits(name.substr(kUnfinished.size()), kUnfinishedDigits);
}

Result<bool> make_folder(FolderRoot& root, const std::string& below) {
  if (below.empty()) return false;
  const int folder = TRY(root.folder_of(below));
  if (::mkdirat(folder, FolderRoot::name_of(below).c_str(), 0700) == 0) return true;
  if (errno != EEXIST) return errno_error("make the folder " + root.place(below), errno);
  const struct stat there = TRY(root.look(below));
  if (!S_ISDIR(there.st_mode)) return in_its_place(root.place(below), "no folder");
  return false;
}

Result<void> make_file(FolderRoot& root, const std::string& below, const Node& node,
                       std::string_view bytes) {
  TargetFile file = TRY(TargetFile::begin(root, below));
  TRY(file.append(bytes));
  return file.finish(node);
}

Result<TargetFile> TargetFile::begin(FolderRoot& root, const std::string& below) {
  constexpr mode_t kOwners = 0600;
  const std::string path = root.place(below);
  async::UniqueFd folder(::fcntl(TRY(root.folder_of(below)), F_DUPFD_CLOEXEC, 0));
  if (!folder.valid()) return errno_error("make " + path, errno);
  TargetFile made(path, std::move(folder));
  const int at = made.folder_.get();
  made.file_ = async::UniqueFd(::openat(at, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwners));
  if (made.file_.valid()) return made;
  made.part_ = part_name();
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  made.file_ = async::UniqueFd(::openat(at, made.part_.c_str(), flags, kOwners));
  if (!made.file_.valid()) return errno_error("make " + path, errno);
  return made;
}

TargetFile::~TargetFile() {
  if (file_.valid() && !part_.empty()) (void)::unlinkat(folder_.get(), part_.c_str(), 0);
}

Result<void> TargetFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kHoleLeast);
    TRY(is_hole(part) ? skip(part.size()) : write(part));
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<void> TargetFile::write(std::string_view bytes) {
  ends_in_hole_ = false;
  while (!bytes.empty()) {
    const ssize_t size = ::write(file_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("write " + path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

// A sparse file takes no more of this disk than of the one that it was put from.
Result<void> TargetFile::skip(std::size_t size) {
  ends_in_hole_ = true;
  if (::lseek(file_.get(), static_cast<off_t>(size), SEEK_CUR) < 0) {
    return errno_error("write " + path_, errno);
  }
  return {};
}

Result<void> TargetFile::finish(const Node& node) {
  const off_t end = ends_in_hole_ ? ::lseek(file_.get(), 0, SEEK_CUR) : 0;
  if (ends_in_hole_ && ::ftruncate(file_.get(), end) != 0) {
    return errno_error("write " + path_, errno);
  }
  if (::fchmod(file_.get(), given_mode(node)) != 0)
    return errno_error("set the mode of " + path_, errno);
  if (::futimens(file_.get(), times_of(node).data()) != 0) {
    return errno_error("set the time of " + path_, errno);
  }
  if (part_.empty()) TRY(give_name());
  const int at = folder_.get();
  if (!part_.empty() && ::renameat(at, part_.c_str(), at, name().c_str()) != 0) {
    if (errno == EISDIR) return in_its_place(path_, "a folder");
    return errno_error("rename to " + path_, errno);
  }
  file_.reset();
  return {};
}

// Its own where there is no file yet, else one from which it replaces what is there.
Result<void> TargetFile::give_name() {
  const std::string file = "/proc/self/fd/" + std::to_string(file_.get());
  const auto link_to = [this, &file](const std::string& name) {
    const int at = folder_.get();
    return ::linkat(AT_FDCWD, file.c_str(), at, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_to(name())) return {};
  if (errno != EEXIST) return errno_error("make " + path_, errno);
  std::string part = part_name();
  if (!link_to(part)) return errno_error("make " + path_, errno);
  part_ = std::move(part);
  return {};
}

Result<async::UniqueFd> open_device(const std::string& path) {
  async::UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!device.valid()) return errno_error("open " + path, errno);
  return device;
}

Result<void> make_link(FolderRoot& root, const std::string& below, const Node& node) {
  const std::string path = root.place(below);
  const int at = TRY(root.folder_of(below));
  const std::string part = part_name();
  if (::symlinkat(node.target.c_str(), at, part.c_str()) != 0) {
    return errno_error("make the link " + path, errno);
  }
  const std::string name = FolderRoot::name_of(below);
  const auto times = times_of(node);
  const bool dated = ::utimensat(at, part.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0;
  if (dated && ::renameat(at, part.c_str(), at, name.c_str()) == 0) return {};
  const int reason = errno;
  (void)::unlinkat(at, part.c_str(), 0);
  if (!dated) return errno_error("set the time of " + path, reason);
  if (reason == EISDIR) return in_its_place(path, "a folder");
  return errno_error("rename to " + path, reason);
}

bool is_as_node(FolderRoot& root, const std::string& below, const Node& node) {
  const Result<struct stat> info = root.look(below);
  if (!info.ok()) return false;
  if (node.kind == NodeKind::kLink) {
    return S_ISLNK(info->st_mode) && root.target_of(below).value_or("") == node.target;
  }
  return S_ISREG(info->st_mode) && static_cast<std::uint64_t>(info->st_size) == node.size &&
         info->st_mtim.tv_sec == node.changed &&
         info->st_mtim.tv_nsec == static_cast<long>(node.changed_nanos) &&
         (info->st_mode & 07777U) == given_mode(node);
}

// By its number: no link can take the place of what is open.
Result<void> set_attributes(const FolderRoot& root, const std::string& below, const Node& node) {
  const async::UniqueFd folder = TRY(root.open_below(below, O_PATH | O_DIRECTORY));
  const std::string itself = "/proc/self/fd/" + std::to_string(folder.get());
  if (::chmod(itself.c_str(), given_mode(node)) != 0) {
    return errno_error("set the mode of " + root.place(below), errno);
  }
  if (::utimensat(AT_FDCWD, itself.c_str(), times_of(node).data(), 0) != 0) {
    return errno_error("set the time of " + root.place(below), errno);
  }
  return {};
}

}  // namespace runnel::volume
