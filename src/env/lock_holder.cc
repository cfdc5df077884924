#include "env/lock_holder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/files.h"

namespace runnel::env {
namespace {

// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:10109211 0 EOF"; who waits has "->" after its number.
enum LockColumn : std::uint8_t { kNumber, kKind, kStrictness, kMode, kProcess, kFile, kColumns };

using LockWords = std::array<std::string_view, kColumns>;

// Without what was cut off at the end.
std::string_view take_whole_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == std::string_view::npos ? 0 : end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

LockWords words_of(std::string_view line) {
  LockWords words;
  for (std::string_view& word : words) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
  }
  return words;
}

std::string name_in_table(dev_t device, ino_t inode) {
  std::array<char, 64> name{};
  const int size = std::snprintf(name.data(), name.size(), "%02x:%02x:%llu", major(device),
                                 minor(device), static_cast<unsigned long long>(inode));
  CHECK(size > 0 && static_cast<std::size_t>(size) < name.size(), "a file's name in /proc/locks");
  return {name.data(), static_cast<std::size_t>(size)};
}

}  // namespace

std::int64_t lock_holder_in(std::string_view table, dev_t device, ino_t inode) {
  const std::string file = name_in_table(device, inode);
  while (!table.empty()) {
    const LockWords words = words_of(take_whole_line(table));
    if (words[kKind] != "FLOCK" || words[kFile] != file) continue;
    const std::string_view digits = words[kProcess];
    std::int64_t pid = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    return std::max<std::int64_t>(pid, 0);  // One of another pid namespace is told as 0 or less.
  }
  return 0;
}

bool is_locked(const std::string& path) {
  const detail::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return false;
  return ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

namespace {

std::int64_t lock_holder_now(const std::vector<std::string>& paths) {
  const Result<std::string> table = read_file("/proc/locks");
  if (!table.ok()) return 0;
  for (const std::string& path : paths) {
    CHECK(!path.empty(), "who holds the lock of a file without a path?");
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) continue;
    const std::int64_t holder = lock_holder_in(*table, status.st_dev, status.st_ino);
    if (holder != 0) return holder;
  }
  return 0;
}

}  // namespace

// The kernel gives its table in parts, so one that changes meanwhile may lack a lock.
std::int64_t lock_holder(const std::vector<std::string>& paths) {
  constexpr int kLooks = 3;
  std::int64_t holder = 0;
  for (int look = 0; look < kLooks && holder == 0; ++look) holder = lock_holder_now(paths);
  return holder;
}

}  // namespace runnel::env
