#include "env/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "env/clock.h"

namespace runnel::env {
namespace {

// The pid in the file, "" while its holder has not written it yet.
std::string holder_of(int file) {
  std::array<char, 24> text;
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return {};
  const auto end = std::find(text.begin(), text.begin() + size, '\n');
  return {text.begin(), end};
}

Error is_held(const std::string& path, std::string holder) {
  const std::string who = holder.empty() ? "another process" : "process " + holder;
  Error error(Errc::kConflict, path + " is locked by " + who);
  return error.with_value(std::move(holder));
}

}  // namespace

bool write_pid(int file) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  const auto size = static_cast<ssize_t>(pid.size());
  const bool written = ::pwrite(file, pid.data(), pid.size(), 0) == size;
  return ::ftruncate(file, written ? size : 0) == 0;
}

Result<FileLock> FileLock::acquire(const std::string& path) {
  detail::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return errno_error("open " + path, errno);
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return is_held(path, holder_of(file.number()));
    return errno_error("lock " + path, errno);
  }
  (void)write_pid(file.number());  // A lock that names nobody is held all the same.
  CHECK(file.is_open(), "a lock is held by its open file");
  return FileLock(std::move(file));
}

FileLock::FileLock(detail::Descriptor file) : file_(std::move(file)), process_(::getpid()) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  CHECK(other.file_.is_open(), "a lock that is held nowhere is moved");
  release();
  file_ = std::move(other.file_);
  process_ = other.process_;
  return *this;
}

FileLock::~FileLock() { release(); }

// A child by fork has the same open file, which would hold the lock for as long as the child lives.
void FileLock::release() {
  if (file_.is_open() && process_ == ::getpid()) (void)::flock(file_.number(), LOCK_UN);
  file_.reset();
}

Result<FileLock> FileLock::acquire_within(const std::string& path, Duration patience) {
  const Duration until = real_clock().boot() + patience;
  while (true) {
    Result<FileLock> lock = acquire(path);
    if (lock.ok() || lock.error().code != Errc::kConflict) return lock;
    if (real_clock().boot() >= until) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace runnel::env
