#include "env/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/file_system.h"
#include "env/process.h"

namespace runnel::env {
namespace {

using detail::Descriptor;

mode_t file_mode(Access access) { return access == Access::kOwner ? 0600 : 0666; }
mode_t directory_mode(Access access) { return access == Access::kOwner ? 0700 : 0777; }

// A file system is full of bytes or of files, and the kernel has one number for both.
Error failed(const char* verb, const std::string& path) {
  const int reason = errno;
  Error error = errno_error(std::string(verb) + " " + path, reason);
  if (reason != ENOSPC) return error;
  const Result<std::optional<std::int64_t>> inodes = free_inodes(parent_of(path));
  if (inodes.ok() && *inodes == 0) error.message += ": no inodes are free (df -i)";
  return error;
}

Error failed(const char* verb, const std::string& path, const std::error_code& code) {
  return errno_error(std::string(verb) + " " + path, code.value());
}

Result<Descriptor> open_file(const std::string& path, int flags, mode_t mode, const char* verb) {
  const int number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (number < 0) return failed(verb, path);
  return Descriptor(number);
}

Result<void> write_all(const Descriptor& file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", path);
    CHECK(static_cast<std::size_t>(written) <= text.size(), "no more is written than there is");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> sync_file(const Descriptor& file, const std::string& path) {
  if (::fsync(file.number()) != 0) return failed("sync", path);
  return {};
}

Result<void> write_synced(const std::string& path, std::string_view text, Access access) {
  const Descriptor file =
      TRY(open_file(path, O_WRONLY | O_CREAT | O_EXCL, file_mode(access), "create"));
  TRY(write_all(file, text, path));
  return sync_file(file, path);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

constexpr std::string_view kTemporaryMark = ".tmp-";

// Unlike any other name this process or another one writes beside `path`.
std::string temporary_beside(const std::string& path) {
  static std::atomic<std::uint64_t> count{0};
  return path + std::string(kTemporaryMark) + std::to_string(::getpid()) + "-" +
         std::to_string(count.fetch_add(1));
}

std::string_view name_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

// Opening a pipe waits for its writer, and some devices have no end.
Result<Descriptor> open_regular(const std::string& path, int flags = O_RDONLY) {
  Descriptor file = TRY(open_file(path, flags | O_NONBLOCK | O_NOCTTY, 0, "open"));
  struct stat info{};
  if (::fstat(file.number(), &info) != 0) return failed("read", path);
  if (S_ISREG(info.st_mode)) return file;
  return Error(Errc::kInvalid,
               path + " is " + std::string(name_of(info.st_mode)) + ", not a regular file");
}

Error too_large(const std::string& path, Bytes limit) {
  return Error(Errc::kFull,
               path + " is larger than the " + human(limit) + " that are read at most");
}

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  if (S_ISLNK(mode)) return FileKind::kLink;
  return FileKind::kOther;
}

std::error_code copy_entry(const std::filesystem::directory_entry& entry,
                           const std::filesystem::path& to) {
  std::error_code code;
  switch (entry.symlink_status(code).type()) {
    case std::filesystem::file_type::directory:
      std::filesystem::create_directory(to, entry.path(), code);
      return code;
    case std::filesystem::file_type::symlink:
      std::filesystem::copy_symlink(entry.path(), to, code);
      return code;
    case std::filesystem::file_type::regular:
      std::filesystem::copy_file(entry.path(), to, code);
      return code;
    default: return code;
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path, Bytes limit) {
  CHECK(limit >= Bytes(), "a limit is not negative");
  const Descriptor file = TRY(open_regular(path));
  struct stat info{};
  if (::fstat(file.number(), &info) != 0) return failed("read", path);
  const auto max = static_cast<std::size_t>(limit.count());
  // One byte more than the file claims, so that the end is seen without a second read.
  std::string text(std::min(max, static_cast<std::size_t>(info.st_size)) + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(file.number(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    size += static_cast<std::size_t>(got);
    if (size > max) return too_large(path, limit);
    if (got == 0) break;
    if (size == text.size()) text.resize(2 * size + 4096);
  }
  text.resize(size);
  return text;
}

Result<void> write_file_atomically(const std::string& path, std::string_view text, Access access) {
  const std::string temporary = temporary_beside(path);
  Result<void> written = write_synced(temporary, text, access);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = failed("replace", path);
  }
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_directory(parent_of(path));
}

Result<void> append_file(const std::string& path, std::string_view text) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  const Descriptor file = TRY(open_file(path, flags, file_mode(Access::kShared), "open"));
  const off_t end = ::lseek(file.number(), 0, SEEK_END);
  Result<void> written = write_all(file, text, path);
  if (!written.ok() && end >= 0 && ::ftruncate(file.number(), end) != 0) {
    return failed("take back a part of a line in", path);
  }
  return written;
}

Result<void> rename_file(const std::string& from, const std::string& to) {
  CHECK(from != to, "a file is renamed to another name");
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename", from + " to " + to);
  return sync_directory(parent_of(to));
}

Result<void> copy_file(const std::string& from, const std::string& to) {
  const Descriptor source = TRY(open_regular(from));
  const int flags = O_WRONLY | O_CREAT | O_EXCL;
  const Descriptor target = TRY(open_file(to, flags, file_mode(Access::kOwner), "create"));
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = ::read(source.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", from);
    if (got == 0) return sync_file(target, to);
    TRY(write_all(target, {buffer.data(), static_cast<std::size_t>(got)}, to));
  }
}

Result<void> rewrite_file(const std::string& path) {
  Result<Descriptor> opened = open_regular(path, O_RDWR | O_NOFOLLOW);
  if (!opened.ok() && opened.error().code == Errc::kNotFound) return {};
  const Descriptor file = TRY(std::move(opened));
  std::array<char, 1 << 16> buffer;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.number(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    if (got == 0) return sync_file(file, path);
    const ssize_t put = ::pwrite(file.number(), buffer.data(), static_cast<std::size_t>(got), at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed("write", path);
    at += put;  // The rest of a part is read again.
  }
}

Result<void> copy_tree(const std::string& from, const std::string& to) {
  std::error_code code;
  if (std::filesystem::exists(std::filesystem::symlink_status(to, code))) {
    return failed("copy", from, std::make_error_code(std::errc::file_exists));
  }
  std::filesystem::create_directory(to, from, code);
  if (code) return failed("copy", from, code);
  auto entry = std::filesystem::recursive_directory_iterator(from, code);
  for (; !code && entry != std::filesystem::recursive_directory_iterator(); entry.increment(code)) {
    const std::string path = entry->path();
    code = copy_entry(*entry, std::filesystem::path(to) / entry->path().lexically_relative(from));
    if (code) return failed("copy", path, code);
  }
  if (code) return failed("copy", from, code);
  return {};
}

Result<void> exchange_files(const std::string& one, const std::string& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) return {};
  return errno_error("exchange " + one + " and " + other, errno);
}

Result<std::string> real_path(const std::string& path) {
  std::error_code code;
  const std::filesystem::path real = std::filesystem::canonical(path, code);
  if (code) return failed("find", path, code);
  return real.string();
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code code;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  if (code) return failed("list", path, code);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> make_directories(const std::string& path, Access access) {
  if (::mkdir(path.c_str(), directory_mode(access)) == 0) return {};
  if (errno == ENOENT && parent_of(path) != path) {
    TRY(make_directories(parent_of(path), access));
    if (::mkdir(path.c_str(), directory_mode(access)) == 0) return {};
  }
  struct stat info{};
  const int reason = errno;
  const bool is_there = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (reason == EEXIST && is_there) return {};
  errno = reason;
  return failed("make the folder", path);
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path);
  return {};
}

bool is_temporary_of(std::string_view target, std::string_view name) {
  if (!name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(kTemporaryMark)) return false;
  name.remove_prefix(kTemporaryMark.size());
  const std::size_t dash = name.find('-');
  return dash != name.npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

bool is_own_temporary(std::string_view name) {
  const std::size_t mark = name.rfind(kTemporaryMark);
  if (mark == name.npos) return false;
  return name.substr(mark + kTemporaryMark.size()).starts_with(std::to_string(::getpid()) + "-");
}

bool exists(const std::string& path) { return file_info(path).ok(); }

void remove_left_temporaries(const std::string& path) {
  const std::string target = path.substr(path.rfind('/') + 1);
  const Result<std::vector<std::string>> names = list_directory(parent_of(path));
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const bool is_left = is_temporary_of(target, name) && !is_own_temporary(name);
    if (is_left) (void)remove_file(parent_of(path) + "/" + name);
  }
}

Result<bool> is_there(const std::string& path) {
  const Result<FileInfo> info = file_info(path);
  if (info.ok()) return true;
  if (info.error().code == Errc::kNotFound) return false;
  return info.error();
}

Result<FileId> file_id(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return errno_error("look at " + path, errno);
  return FileId{static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino)};
}

Result<std::int64_t> birth_time(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &status) != 0) {
    return errno_error("look at " + path, errno);
  }
  if ((status.stx_mask & STATX_BTIME) == 0) return 0;
  CHECK(status.stx_btime.tv_nsec < 1'000'000'000, "the kernel tells parts of a second");
  return status.stx_btime.tv_sec * std::int64_t{1'000'000'000} + status.stx_btime.tv_nsec;
}

Result<FileInfo> file_info(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return failed("look at", path);
  const std::int64_t modified =
      std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
  return FileInfo{kind_of(info.st_mode), Bytes::count(info.st_size), Time::from_millis(modified),
                  info.st_mode & 07777U, info.st_uid == ::geteuid()};
}

Result<void> may_write_in(const std::string& folder) {
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return failed("write in", folder);
}

Result<void> set_mode(const std::string& path, unsigned mode) {
  if (::chmod(path.c_str(), mode) != 0) return failed("change the permissions of", path);
  return {};
}

Result<void> sync_directory(const std::string& path) {
  const Descriptor directory = TRY(open_file(path, O_RDONLY | O_DIRECTORY, 0, "open"));
  return sync_file(directory, path);
}

std::string parent_of(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  const std::size_t slash = last == path.npos ? path.npos : path.rfind('/', last);
  if (last == path.npos && !path.empty()) return "/";
  if (slash == path.npos) return ".";
  const std::size_t end = path.find_last_not_of('/', slash);
  return end == path.npos ? "/" : path.substr(0, end + 1);
}

Result<std::string> make_temporary_directory(const std::string& prefix) {
  CHECK(prefix.find('/') == prefix.npos, "a prefix is a part of one name");
  std::string path = variable("TMPDIR").value_or("/tmp") + "/" + prefix + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return failed("make a temporary folder", path);
  return path;
}

}  // namespace runnel::env
