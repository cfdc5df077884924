#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

// Files as whole values. Every path is a std::string; every error names what was tried and the
// path. Functions, not an interface: what needs faults injected (the event log) has its own seam
// above.
namespace runnel::env {

inline constexpr Bytes kReadFileMax = Bytes::mebi(64);

// The whole file; kFull when it is larger than `limit`, kInvalid when it is a pipe, a device or
// anything else that might never answer.
Result<std::string> read_file(const std::string& path, Bytes limit = kReadFileMax);

// The readers of what is written: the owner alone, or everybody the umask allows.
enum class Access : std::uint8_t { kOwner, kShared };

// Replaces the file by `text`, or leaves it as it was: a temporary beside it is written, synced and
// renamed, and the folder synced. Durable when it returns.
Result<void> write_file_atomically(const std::string& path, std::string_view text,
                                   Access access = Access::kShared);

// Whether a file of this name is the temporary that a crash left of one that is called `target`.
bool is_temporary_of(std::string_view target, std::string_view name);
// Whether this process made the temporary of that name, which it may be about to rename.
bool is_own_temporary(std::string_view name);
// Removes temporaries beside `path` that other processes left of it. Best effort: what cannot be
// removed stays.
void remove_left_temporaries(const std::string& path);

// Adds `text` to the end of the file, which is made when missing. Not synced. Of a text that the
// disk does not take whole nothing stays: nobody else may write the file meanwhile.
Result<void> append_file(const std::string& path, std::string_view text);

// Gives the file another name in the same file system, replacing what has it; synced.
Result<void> rename_file(const std::string& from, const std::string& to);

// Copies the bytes of one regular file to a new one and syncs it; kConflict when `to` is there.
Result<void> copy_file(const std::string& from, const std::string& to);

// Writes what the file holds over itself and syncs it; nothing when it is not there. After a sync
// that failed the kernel takes what it could not write for written: it can still be read, a second
// sync has nothing to do, and a power loss takes it (Rebello et al., "Can Applications Recover from
// fsync Failures?", USENIX ATC 2020).
Result<void> rewrite_file(const std::string& path);

// Copies a folder with all that is in it, links as links; `to` must not be there. Not synced.
// FIFOs, sockets and devices hold nothing that could be copied, and are left out.
Result<void> copy_tree(const std::string& from, const std::string& to);

// Two names in one file system change places at once. kNotFound when one of them is not there.
Result<void> exchange_files(const std::string& one, const std::string& other);

// The path without links, "." and "..". kNotFound when it leads nowhere.
Result<std::string> real_path(const std::string& path);

// The names in a folder in byte order, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

// Makes the folder and its missing parents; fine when it is there.
Result<void> make_directories(const std::string& path, Access access = Access::kShared);

// Removes a file; fine when it is not there.
Result<void> remove_file(const std::string& path);

bool exists(const std::string& path);
// The same where "no" must be sure: an error when the file system cannot tell.
Result<bool> is_there(const std::string& path);

// Which file or folder it is on this machine, whatever its name; links are followed. Of another
// boot the device may have another number.
struct FileId {
  std::int64_t device = 0;
  std::int64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
Result<FileId> file_id(const std::string& path);

// When the file or folder was made, in nanoseconds since 1970: its inode number alone may come
// back. Links are followed. 0 where the file system does not tell.
Result<std::int64_t> birth_time(const std::string& path);

enum class FileKind : std::uint8_t { kFile, kDirectory, kLink, kOther };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  Bytes size;
  Time modified;
  unsigned mode = 0;  // Permission bits, as chmod takes them.
  bool own = false;   // This process's user owns it.
};

// Looks at the path itself: a link is not followed.
Result<FileInfo> file_info(const std::string& path);

// Whether this process may make and remove files in the folder: kDenied, or kIo on a read-only file
// system.
Result<void> may_write_in(const std::string& folder);

// Sets the permission bits of a file or folder.
Result<void> set_mode(const std::string& path, unsigned mode);

// Makes the names in a folder durable: after creating, renaming or removing one of them.
Result<void> sync_directory(const std::string& path);

// "a/b" of "a/b/c", "/" of "/c", "." of "c".
std::string parent_of(const std::string& path);

// A new, empty, private folder below $TMPDIR (or /tmp) whose name begins with `prefix`.
Result<std::string> make_temporary_directory(const std::string& prefix);

}  // namespace runnel::env
