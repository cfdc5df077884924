#include "writing/log_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "async/unique_fd.h"
#include "env/clock.h"
#include "env/files.h"

namespace runnel::writing {
namespace {

using async::UniqueFd;

constexpr std::string_view kEnd = ".log";
constexpr std::string_view kRetiredEnd = ".data";
constexpr std::size_t kZerosAtOnce = 1 << 20;

std::string name_of(std::uint64_t number, std::string_view end) {
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%06llu", static_cast<unsigned long long>(number));
  return digits.data() + std::string(end);
}

// Of a segment's name; none for other names.
std::optional<std::uint64_t> number_of(const std::string& name, std::string_view end) {
  std::uint64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number > 0 && name == name_of(number, end) ? std::optional(number) : std::nullopt;
}

Result<void> write_at(int file, const std::string& path, std::uint64_t place,
                      std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("write " + path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
    place += static_cast<std::uint64_t>(size);
  }
  return {};
}

// Zeros that are written, and not only promised: a sync of what is written over them has nothing of
// the file system to write.
Result<void> fill(const std::string& path, std::uint64_t size) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const UniqueFd file(::open(path.c_str(), flags, 0600));
  if (!file.valid()) return errno_error("make " + path, errno);
  const std::string zeros(kZerosAtOnce, '\0');
  for (std::uint64_t at = 0; at < size; at += zeros.size()) {
    const std::string_view some =
        std::string_view(zeros).substr(0, std::min<std::uint64_t>(size - at, zeros.size()));
    TRY(write_at(file.get(), path, at, some));
  }
  if (::fsync(file.get()) != 0) return errno_error("sync " + path, errno);
  return {};
}

// The same, promised alone; written where the file system promises nothing.
Result<void> promise(const std::string& path, std::uint64_t size) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const UniqueFd file(::open(path.c_str(), flags, 0600));
  if (!file.valid()) return errno_error("make " + path, errno);
  if (::fallocate(file.get(), 0, 0, static_cast<off_t>(size)) == 0) return {};
  if (errno == EOPNOTSUPP) return fill(path, size);
  return errno_error("make " + path, errno);
}

Result<void> make_durable_folders(const std::string& folder) {
  if (TRY(env::is_there(folder))) return {};
  const std::string parent = env::parent_of(folder);
  TRY(make_durable_folders(parent));
  TRY(env::make_directories(folder, env::Access::kOwner));
  return env::sync_directory(parent);
}

}  // namespace

Result<std::unique_ptr<LogFolder>> LogFolder::open(const std::string& folder) {
  TRY(make_durable_folders(folder));
  env::FileLock lock = TRY(env::FileLock::acquire(folder + "/.lock"));
  std::unique_ptr<LogFolder> log(new LogFolder(folder, std::move(lock)));
  TRY(env::remove_file(log->spare()));
  log->hold_reserve();
  return log;
}

LogFolder::LogFolder(std::string folder, env::FileLock lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

std::string LogFolder::path_of(std::uint64_t number) const {
  return folder_ + "/" + name_of(number, kEnd);
}
std::string LogFolder::retired_path_of(std::uint64_t number) const {
  return folder_ + "/" + name_of(number, kRetiredEnd);
}

Result<std::vector<std::uint64_t>> LogFolder::numbers() const { return named(kEnd); }
Result<std::vector<std::uint64_t>> LogFolder::retired() const { return named(kRetiredEnd); }

Result<std::vector<std::uint64_t>> LogFolder::named(std::string_view end) const {
  std::vector<std::uint64_t> found;
  for (const std::string& name : TRY(env::list_directory(folder_))) {
    if (const auto number = number_of(name, end)) found.push_back(*number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> LogFolder::hold_room(std::uint64_t size, Room room, Reserve reserve) {
  const auto has_size = [size](const std::string& path) {
    const Result<env::FileInfo> there = env::file_info(path);
    return there.ok() && there->size == Bytes::count(static_cast<std::int64_t>(size));
  };
  if (has_size(spare())) return {};
  Result<void> filled = room == Room::kWritten ? fill(spare(), size) : promise(spare(), size);
  if (!filled.ok()) (void)env::remove_file(spare());
  const bool is_full = !filled.ok() && filled.error().code == Errc::kFull;
  if (is_full && reserve == Reserve::kTake && has_size(this->reserve())) {
    return env::rename_file(this->reserve(), spare());
  }
  return filled;
}

// A disk that has no room for it now may have some later.
void LogFolder::hold_reserve() {
  const Result<env::FileInfo> there = env::file_info(reserve());
  if (there.ok() && there->size == kReserve) return;
  const Result<void> filled = fill(reserve(), static_cast<std::uint64_t>(kReserve.count()));
  if (!filled.ok()) (void)env::remove_file(reserve());
}

Result<void> LogFolder::make(std::uint64_t number, std::string_view header, std::uint64_t size) {
  TRY(hold_room(size, Room::kWritten, Reserve::kLeave));
  const UniqueFd file(::open(spare().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return errno_error("open " + spare(), errno);
  Result<void> written = write_at(file.get(), spare(), 0, header);
  if (written.ok() && ::fsync(file.get()) != 0) written = errno_error("sync " + spare(), errno);
  if (!written.ok()) (void)env::remove_file(spare());  // A second sync would call it safe.
  TRY(std::move(written));
  close_segment();
  return env::rename_file(spare(), path_of(number));
}

Result<std::string> LogFolder::read(std::uint64_t number) const {
  return env::read_file(path_of(number), kSegmentMax);
}

// Stays open: what the kernel could not write is told to who had the file open then.
Result<int> LogFolder::open_segment(std::uint64_t number) {
  if (open_.valid() && open_number_ == number) return open_.get();
  const std::string path = path_of(number);
  open_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!open_.valid()) return errno_error("open " + path, errno);
  open_number_ = number;
  return open_.get();
}

void LogFolder::close_segment() { open_ = UniqueFd(); }

Result<void> LogFolder::write(std::uint64_t number, std::uint64_t place, std::string_view bytes) {
  const Duration begun = env::real_clock().boot();
  Result<void> written = write_at(TRY(open_segment(number)), path_of(number), place, bytes);
  const Duration ended = env::real_clock().boot();
  if (ended - begun >= kSlow) slow_until_ = (ended + kSlowFor).millis();
  return written;
}

// The kernel lets who writes wait once too much of its memory is to be written.
bool LogFolder::writes_at_once() const {
  return env::real_clock().boot().millis() >= slow_until_.load();
}

Result<void> LogFolder::sync(std::uint64_t number) {
  if (::fdatasync(TRY(open_segment(number))) != 0) {
    return errno_error("sync " + path_of(number), errno);
  }
  return {};
}

// The name may change meanwhile.
Result<std::string> LogFolder::read_part(std::uint64_t number, std::uint64_t place,
                                         std::size_t length) const {
  UniqueFd file(::open(path_of(number).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    file = UniqueFd(::open(retired_path_of(number).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  }
  if (!file.valid()) return errno_error("open " + retired_path_of(number), errno);
  std::string bytes(length, '\0');
  for (std::size_t done = 0; done < length;) {
    const ssize_t size =
        ::pread(file.get(), bytes.data() + done, length - done, static_cast<off_t>(place + done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("read " + path_of(number), errno);
    if (size == 0) return Error(Errc::kCorrupt, path_of(number) + " is shorter than it was");
    done += static_cast<std::size_t>(size);
  }
  return bytes;
}

Result<void> LogFolder::retire(std::uint64_t number) {
  close_segment();
  if (!TRY(env::is_there(path_of(number)))) return {};
  return env::rename_file(path_of(number), retired_path_of(number));
}

Result<void> LogFolder::remove(std::uint64_t number) {
  close_segment();
  TRY(env::remove_file(path_of(number)));
  TRY(env::remove_file(retired_path_of(number)));
  hold_reserve();
  return env::sync_directory(folder_);
}

}  // namespace runnel::writing
