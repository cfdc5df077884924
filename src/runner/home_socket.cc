#include "runner/home_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

#include "async/socket.h"
#include "base/check.h"
#include "base/shell_word.h"
#include "output/open_file.h"
#include "runner/folders.h"
#include "runner/runner.h"

namespace runnel::runner {
namespace {

// A file that is no socket is somebody's: it is kept.
Result<void> move_away(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return {};
  const std::string away = path + ".away";
  if (S_ISDIR(status.st_mode)) {
    return Error(Errc::kConflict, path + " is a folder: the runner's socket belongs there")
        .with_hint("mv " + shell_word(path) + " " + shell_word(away));
  }
  if (::rename(path.c_str(), away.c_str()) != 0)
    return errno_error("move " + path + " away", errno);
  return {};
}

}  // namespace

Result<HomeSocket> HomeSocket::open(std::string home) {
  HomeSocket socket(std::move(home));
  socket.folder_ = output::open_folder(socket.home_);
  if (!socket.folder_.valid()) return errno_error("open " + socket.home_, errno);
  TRY(socket.listen_again());
  return socket;
}

bool HomeSocket::leads_here() const {
  struct stat status{};
  const std::string name = runner_socket("").substr(1);
  return ::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_dev == device_ && status.st_ino == inode_;
}

bool HomeSocket::home_in_place() const { return output::is_same_file(folder_.get(), home_); }

bool HomeSocket::home_is_gone() const {
  struct stat status{};
  return ::fstat(folder_.get(), &status) == 0 && status.st_nlink == 0;
}

std::string HomeSocket::home_now() const {
  const std::string link = "/proc/self/fd/" + std::to_string(folder_.get());
  char path[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size < 0 ? "" : std::string(path, static_cast<std::size_t>(size));
}

Result<void> HomeSocket::listen_again() {
  const std::string path = runner_socket(home_);
  CHECK(folder_.valid(), "a home's socket without a home");
  TRY(move_away(path));
  async::UniqueFd listener = TRY(async::listen_unix(path));
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return errno_error("look at " + path, errno);
  listener_ = std::move(listener);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return {};
}

void HomeSocket::close() { async::remove_unix_socket(runner_socket(home_), listener_); }

}  // namespace runnel::runner
