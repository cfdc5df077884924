#include "volume/target_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "async/unique_fd.h"
#include "env/files.h"
#include "env/random.h"
#include "volume/digits.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kUnfinished = ".runnel-part-";
constexpr std::size_t kUnfinishedDigits = 16;

// A name beside the path that nobody has, as nobody guesses it.
std::string part_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1) + std::string(kUnfinished) +
         env::random_hex(env::real_random(), kUnfinishedDigits);
}

std::string folder_of(const std::string& path) {
  const std::size_t end = path.rfind('/');
  return end == std::string::npos ? "." : path.substr(0, end + 1);
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

bool has_target(const std::string& path, const std::string& target) {
  std::string there(target.size() + 1, '\0');
  const ssize_t size = ::readlink(path.c_str(), there.data(), there.size());
  return size >= 0 && there.substr(0, static_cast<std::size_t>(size)) == target;
}

}  // namespace

bool is_unfinished_name(std::string_view name) {
  return name.starts_with(kUnfinished) &&
         is_digits(name.substr(kUnfinished.size()), kUnfinishedDigits);
}

Result<bool> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return true;
  if (errno != EEXIST) return errno_error("make the folder " + path, errno);
  const env::FileInfo there = TRY(env::file_info(path));
  if (there.kind != env::FileKind::kDirectory) return in_its_place(path, "no folder");
  return false;
}

Result<void> make_file(const std::string& path, const Node& node, std::string_view bytes) {
  TargetFile file = TRY(TargetFile::begin(path));
  TRY(file.append(bytes));
  return file.finish(node);
}

Result<TargetFile> TargetFile::begin(const std::string& path) {
  constexpr mode_t kOwners = 0600;
  async::UniqueFd nameless(
      ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwners));
  if (nameless.valid()) return TargetFile(path, std::move(nameless), "");
  std::string part = part_of(path);
  async::UniqueFd file(
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwners));
  if (!file.valid()) return errno_error("make " + path, errno);
  return TargetFile(path, std::move(file), std::move(part));
}

TargetFile::~TargetFile() {
  if (file_.valid() && !part_.empty()) (void)::unlink(part_.c_str());
}

Result<void> TargetFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("write " + path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Result<void> TargetFile::finish(const Node& node) {
  if (::fchmod(file_.get(), given_mode(node)) != 0)
    return errno_error("set the mode of " + path_, errno);
  if (::futimens(file_.get(), times_of(node).data()) != 0) {
    return errno_error("set the time of " + path_, errno);
  }
  if (part_.empty()) TRY(give_name());
  if (!part_.empty() && ::rename(part_.c_str(), path_.c_str()) != 0) {
    if (errno == EISDIR) return in_its_place(path_, "a folder");
    return errno_error("rename to " + path_, errno);
  }
  file_.reset();
  return {};
}

// Its own where there is no file yet, else one from which it replaces what is there.
Result<void> TargetFile::give_name() {
  const std::string file = "/proc/self/fd/" + std::to_string(file_.get());
  const auto link_to = [&file](const std::string& name) {
    return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_to(path_)) return {};
  if (errno != EEXIST) return errno_error("make " + path_, errno);
  std::string part = part_of(path_);
  if (!link_to(part)) return errno_error("make " + path_, errno);
  part_ = std::move(part);
  return {};
}

Result<async::UniqueFd> open_device(const std::string& path) {
  async::UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!device.valid()) return errno_error("open " + path, errno);
  return device;
}

Result<void> make_link(const std::string& path, const Node& node) {
  const std::string part = part_of(path);
  if (::symlink(node.target.c_str(), part.c_str()) != 0) {
    return errno_error("make the link " + path, errno);
  }
  const auto times = times_of(node);
  const bool dated = ::utimensat(AT_FDCWD, part.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0;
  if (dated && ::rename(part.c_str(), path.c_str()) == 0) return {};
  const int reason = errno;
  (void)::unlink(part.c_str());
  if (!dated) return errno_error("set the time of " + path, reason);
  if (reason == EISDIR) return in_its_place(path, "a folder");
  return errno_error("rename to " + path, reason);
}

bool is_as_node(const std::string& path, const Node& node) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return false;
  if (node.kind == NodeKind::kLink) return S_ISLNK(info.st_mode) && has_target(path, node.target);
  return S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) == node.size &&
         info.st_mtim.tv_sec == node.changed &&
         info.st_mtim.tv_nsec == static_cast<long>(node.changed_nanos) &&
         (info.st_mode & 07777U) == given_mode(node);
}

Result<void> set_attributes(const std::string& path, const Node& node) {
  if (::chmod(path.c_str(), given_mode(node)) != 0)
    return errno_error("set the mode of " + path, errno);
  if (::utimensat(AT_FDCWD, path.c_str(), times_of(node).data(), 0) != 0) {
    return errno_error("set the time of " + path, errno);
  }
  return {};
}

}  // namespace runnel::volume
