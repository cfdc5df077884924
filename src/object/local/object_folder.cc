#include "object/local/object_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "async/unique_fd.h"
#include "base/check.h"
#include "env/clock.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/random.h"
#include "hash/xxh3.h"
#include "object/key.h"
#include "object/refusals.h"

namespace runnel::object {
namespace {

// A file system that is mounted read-only denies it as much as one that is another user's.
Error not_written(std::string what) {
  const int why = errno;
  Error error = errno_error(std::move(what), why);
  if (why == EROFS) error.code = Errc::kDenied;
  return error;
}

using async::UniqueFd;

constexpr std::string_view kOwn = ".runnel";
constexpr std::string_view kLock = "lock";
constexpr std::string_view kReserveName = "reserve";
constexpr std::string_view kInodesName = "inodes";

// An ETag of the bytes: whoever swaps an object that carries a nonce never meets the same twice.
std::string etag_of(std::string_view bytes) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "\"%016llx-%zu\"",
                static_cast<unsigned long long>(hash::xxh3(bytes)), bytes.size());
  return text.data();
}

std::string stamp_of(const struct stat& info) {
  return std::to_string(info.st_ino) + "-" + std::to_string(info.st_size) + "-" +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

Time time_of(const struct stat& info) {
  return Time::from_millis(info.st_mtim.tv_sec * 1'000 + info.st_mtim.tv_nsec / 1'000'000);
}

struct OpenObject {
  UniqueFd file;
  std::string path;
  std::int64_t size = 0;
};

// A folder is no object: other keys lie below it.
Result<OpenObject> open_object(const std::string& store, const std::string& key,
                               const std::string& path) {
  OpenObject object{UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), path, 0};
  if (!object.file.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) return no_object(store, key);
    return errno_error("open " + path, errno);
  }
  struct stat info = {};
  if (::fstat(object.file.get(), &info) != 0) return errno_error("look at " + path, errno);
  if (S_ISDIR(info.st_mode)) return no_object(store, key);
  if (!S_ISREG(info.st_mode)) return Error(Errc::kInvalid, path + " is no regular file");
  object.size = info.st_size;
  return object;
}

// How many bytes there were; fewer than asked for at the end of the file.
Result<std::size_t> read_at(const OpenObject& object, std::int64_t offset, std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t size = ::pread(object.file.get(), into.data() + done, into.size() - done,
                                 offset + static_cast<std::int64_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("read " + object.path, errno);
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  return done;
}

using Group = std::optional<gid_t>;

// Lets the group use what is ours. Whoever is not of the group, or has a file system that knows no
// such rights, keeps it to himself.
void share(int file, const Group& group) {
  struct stat info = {};
  if (!group || ::fstat(file, &info) != 0 || info.st_uid != ::geteuid()) return;
  const bool is_folder = S_ISDIR(info.st_mode);
  if (!is_folder && info.st_nlink != 1) return;  // It may be a file of elsewhere.
  if (info.st_gid != *group && ::fchown(file, static_cast<uid_t>(-1), *group) != 0) return;
  const mode_t wanted = is_folder ? 02770 : 0660;
  if ((info.st_mode & ALLPERMS) != wanted) (void)::fchmod(file, wanted);
}

void share_folder(const std::string& path, const Group& group) {
  if (!group) return;
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.valid()) share(folder.get(), group);
}

// Open, and locked as long as it is: whatever the clocks say, whoever sweeps leaves it.
Result<UniqueFd> write_whole(const std::string& file, std::string_view bytes, const Group& group) {
  UniqueFd opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (opened.get() < 0) return not_written("make " + file);
  (void)::flock(opened.get(),
                LOCK_EX | LOCK_NB);  // Where a file system has no locks, time decides.
  share(opened.get(), group);
  while (!bytes.empty()) {
    const ssize_t size = ::write(opened.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("write " + file, errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::fsync(opened.get()) != 0) return errno_error("sync " + file, errno);
  return opened;
}

// Makes the folders of a key below `root`, and their names durable. One that a kill has left
// unshared is shared then.
Result<void> make_folders(const std::string& root, const std::string& key, const Group& group) {
  for (std::size_t slash = key.find('/'); slash != std::string::npos;
       slash = key.find('/', slash + 1)) {
    const std::string folder = root + "/" + key.substr(0, slash);
    const bool is_made = ::mkdir(folder.c_str(), 0700) == 0;
    if (!is_made && errno != EEXIST) return not_written("make the folder " + folder);
    share_folder(folder, group);
    if (is_made) TRY(env::sync_directory(env::parent_of(folder)));
  }
  return {};
}

// The lock under which objects are replaced and removed.
Result<env::FileLock> lock_of(const std::string& path) {
  Result<env::FileLock> lock = env::FileLock::acquire_within(
      path + "/" + std::string(kOwn) + "/" + std::string(kLock), ObjectFolder::kLockWait);
  if (lock.ok() || lock.error().code != Errc::kConflict) return lock;
  // Nothing was done, so it is no answer that was lost.
  return Error(Errc::kIo,
               lock.error().message + " for longer than " + to_string(ObjectFolder::kLockWait))
      .with_value(lock.error().value)
      .with_hint("another writer of the store stands still: let it go on, or end it");
}

// The names in a folder so that keys come in byte order: a folder is its name with a slash.
Result<std::vector<std::string>> sorted_names(const std::string& folder) {
  std::vector<std::string> names;
  for (std::string& name : TRY(env::list_directory(folder))) {
    const Result<env::FileInfo> info = env::file_info(folder + "/" + name);
    if (!info.ok()) continue;  // Removed meanwhile.
    if (info->kind == env::FileKind::kDirectory) name += '/';
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A walk over a folder in the order of keys, which ends when the page is full.
class Walk {
 public:
  Walk(const std::string& root, const std::string& prefix, const std::string& after)
      : root_(root), prefix_(prefix), after_(after) {}

  // False once the page is full.
  Result<bool> enter(const std::string& folder) {
    Result<std::vector<std::string>> names = sorted_names(root_ + "/" + folder);
    if (!names.ok()) {
      if (names.error().code == Errc::kNotFound) return true;  // Removed meanwhile.
      return names.error();
    }
    for (const std::string& name : *names) {
      if (folder.empty() && name == std::string(kOwn) + "/") continue;
      const std::string path = folder + name;
      const bool more = name.ends_with('/') ? may_hold(path) ? TRY(enter(path)) : true : add(path);
      if (!more) return false;
    }
    return true;
  }
  ListPage take() { return std::move(page_); }

 private:
  bool may_hold(const std::string& folder) const {
    const bool in_prefix = folder.starts_with(prefix_) || prefix_.starts_with(folder);
    return in_prefix && (after_ < folder || after_.starts_with(folder));
  }
  bool add(const std::string& key) {
    if (!key.starts_with(prefix_) || key <= after_) return true;
    struct stat info = {};
    if (::lstat((root_ + "/" + key).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return true;
    if (page_.objects.size() == kListPageMax) {
      page_.more = page_.objects.back().key;
      return false;
    }
    page_.objects.push_back({key, info.st_size, stamp_of(info), time_of(info)});
    return true;
  }

  const std::string& root_;
  const std::string& prefix_;
  const std::string& after_;
  ListPage page_;
};

constexpr std::size_t kTemporaryDigits = 32;

bool is_temporary(std::string_view name) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return name.size() == kTemporaryDigits && name.find_first_not_of(kHex) == std::string_view::npos;
}

// A link leads to files that are not the store's, and perhaps not of who made the link.
Result<void> check_no_link(const std::string& folder) {
  const env::FileInfo info = TRY(env::file_info(folder));
  if (info.kind == env::FileKind::kDirectory) return {};
  return Error(Errc::kInvalid, folder + " is no folder, as what a store keeps for itself is")
      .with_value(folder)
      .with_hint("see where it leads, and remove it");
}

// Whether whoever writes it is there.
bool is_held(const std::string& file) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return opened.valid() && ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// Temporaries of processes that were killed. One that cannot be removed, as in a store that is
// mounted read-only, is in nobody's way; what else lies there is not ours.
void sweep(const std::string& folder) {
  const Result<std::vector<std::string>> names = env::list_directory(folder);
  if (!names.ok()) return;
  const Time before = env::real_clock().wall() - ObjectFolder::kTemporaryKept;
  for (const std::string& name : *names) {
    const std::string file = folder + "/" + name;
    const Result<env::FileInfo> info = env::file_info(file);
    const bool is_file = info.ok() && info->kind == env::FileKind::kFile;
    const bool is_old = is_file && is_temporary(name) && info->modified <= before;
    if (is_old && !is_held(file)) (void)env::remove_file(file);
  }
}

}  // namespace

Result<ObjectFolder> ObjectFolder::open(const std::string& path) {
  CHECK(path.starts_with('/'), "the folder of a store needs an absolute path");
  ObjectFolder folder(path);
  folder.was_there_ = TRY(env::is_there(path));
  if (folder.was_there_) TRY(folder.prepare());
  return folder;
}

std::string ObjectFolder::own() const { return path_ + "/" + std::string(kOwn); }

Result<std::optional<gid_t>> ObjectFolder::group() const {
  struct stat info = {};
  if (::stat(path_.c_str(), &info) != 0) return errno_error("look at " + path_, errno);
  // In a folder with the sticky bit, as /tmp, what others make is not to be touched.
  const bool is_shared = (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IWGRP) != 0 &&
                         (info.st_mode & S_ISVTX) == 0;
  return is_shared ? Group(info.st_gid) : Group();
}

void ObjectFolder::share_own() const {
  const Result<Group> with = group();
  if (!with.ok() || !*with) return;
  share_folder(own(), *with);
  share_folder(own() + "/" + std::string(kInodesName), *with);
  const std::string lock = own() + "/" + std::string(kLock);
  const UniqueFd made(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (made.valid()) share(made.get(), *with);
}

Result<void> ObjectFolder::prepare() const {
  TRY(env::make_directories(own(), env::Access::kOwner));
  TRY(check_no_link(own()));
  share_own();
  sweep(own());
  hold_reserve();
  return {};
}

env::RoomReserve ObjectFolder::reserve() const {
  return {own() + "/" + std::string(kReserveName), kReserve};
}

env::InodeReserve ObjectFolder::inodes() const {
  return {own() + "/" + std::string(kInodesName), kReservedInodes};
}

// One process makes it at a time, and nobody waits: whoever has the lock opened the store, too.
void ObjectFolder::hold_reserve() const {
  const Result<env::FileLock> lock = env::FileLock::acquire(own() + "/" + std::string(kLock));
  if (!lock.ok()) return;
  reserve().hold();
  inodes().hold();
}

Result<Object> ObjectFolder::get(const std::string& key, std::int64_t limit) const {
  TRY(check_key(key));
  Result<OpenObject> found = open_object(name_, key, file_of(key));
  if (!found.ok() && !env::exists(path_)) {
    return Error(found.error()).with_hint("there is no folder " + path_ + ": is its disk mounted?");
  }
  const OpenObject opened = TRY(std::move(found));
  if (opened.size > limit) return is_larger(name_, key, limit);
  Object object;
  object.bytes.resize(static_cast<std::size_t>(opened.size));
  if (TRY(read_at(opened, 0, object.bytes)) < object.bytes.size()) {
    return is_shorter(name_, key, opened.size);
  }
  object.etag = etag_of(object.bytes);
  return object;
}

Result<void> ObjectFolder::read(const std::string& key, const std::string& stamp,
                                std::int64_t offset, std::span<char> into) const {
  TRY(check_key(key));
  const OpenObject opened = TRY(open_object(name_, key, file_of(key)));
  const std::size_t size = TRY(read_at(opened, offset, into));
  // Looked at afterwards: who writes into a file while it is read changes its time.
  if (!stamp.empty()) {
    struct stat info = {};
    if (::fstat(opened.file.get(), &info) != 0) return errno_error("look at " + opened.path, errno);
    if (stamp_of(info) != stamp) return was_replaced(name_, key);
  }
  if (size < into.size()) return is_shorter(name_, key, offset + std::ssize(into));
  return {};
}

Result<std::string> ObjectFolder::put(const std::string& key, std::string_view bytes,
                                      const Condition& condition) const {
  TRY(check_key(key));
  // Where a disk is taken away from below, nothing is put on what it was mounted on.
  if (!was_there_ && !env::exists(own())) TRY(prepare());
  const std::string temporary = own() + "/" + env::random_hex(env::real_random(), kTemporaryDigits);
  const Group with = TRY(group());
  const Result<UniqueFd> written = write_whole(temporary, bytes, with);
  Result<void> done = written.ok() ? make_folders(path_, key, with) : written.error();
  if (done.ok()) done = publish(temporary, key, condition);
  (void)env::remove_file(temporary);  // sweep() takes what stays.
  TRY(std::move(done));
  return etag_of(bytes);
}

Result<void> ObjectFolder::publish(const std::string& temporary, const std::string& key,
                                   const Condition& condition) const {
  const std::string file = file_of(key);
  if (condition.kind != Condition::Kind::kAbsent) {
    TRY(replace(temporary, key, condition));
  } else if (::link(temporary.c_str(), file.c_str()) != 0) {
    if (errno == EEXIST) return exists_already(name_, key);
    return not_written("link " + file);
  }
  return env::sync_directory(env::parent_of(file));
}

Result<void> ObjectFolder::replace(const std::string& temporary, const std::string& key,
                                   const Condition& condition) const {
  const env::FileLock lock = TRY(lock_of(path_));
  TRY(check_match(key, condition));
  const std::string file = file_of(key);
  if (::rename(temporary.c_str(), file.c_str()) == 0) return {};
  return not_written("rename to " + file);
}

Result<void> ObjectFolder::check_match(const std::string& key, const Condition& condition) const {
  if (condition.kind != Condition::Kind::kMatches) return {};
  const Object now = TRY(get(key, INT64_MAX));
  if (now.etag != condition.etag) return was_replaced(name_, key);
  return {};
}

Result<void> ObjectFolder::remove(const std::string& key) const {
  TRY(check_key(key));
  if (!TRY(env::is_there(path_))) return {};
  const std::string file = file_of(key);
  const env::FileLock lock = TRY(lock_of(path_));
  if (::unlink(file.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return not_written("remove " + file);
  }
  return env::sync_directory(env::parent_of(file));
}

Result<ListPage> ObjectFolder::list(const std::string& prefix, const std::string& after) const {
  Walk walk(path_, prefix, after);
  TRY(walk.enter(""));
  return walk.take();
}

}  // namespace runnel::object
