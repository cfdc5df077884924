#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace runnel::env {

// Where the bytes of a path live. Network file systems break locks and fsync in ways that differ by
// server and mount option, so a home refuses them, and what may be one.
enum class Locality : std::uint8_t { kLocal, kNetwork, kUnknown };

struct FileSystem {
  std::string name;  // As in /proc/self/mountinfo: "ext4", "nfs4", "fuse.sshfs".
  Locality locality = Locality::kLocal;

  friend bool operator==(const FileSystem&, const FileSystem&) = default;
};

// The file system of the path, or of its nearest parent that exists.
Result<FileSystem> file_system_of(const std::string& path);

// The same decided from the text of a mountinfo file; `path` is absolute and without links.
// Without a name when no line tells, as in a chroot, whose own root is no mount point.
FileSystem file_system_in(std::string_view mountinfo, std::string_view path);

// The same by the number that statfs(2) gives; one that is not known is named "0x...". All of FUSE
// has one number, so what serves it is unknown.
FileSystem file_system_of_number(std::uint32_t number);

// With less free space than this a disk is full: to a home, to its event log and to its runner.
inline constexpr Bytes kSpaceLeast = Bytes::mebi(1);

// The bytes that an ordinary user may still write there.
Result<Bytes> free_space(const std::string& path);

// All bytes of its file system, free or not.
Result<Bytes> all_space(const std::string& path);

// How many files an ordinary user may still make there; nothing where the file system has no such
// limit.
Result<std::optional<std::int64_t>> free_inodes(const std::string& path);

}  // namespace runnel::env
