#include "env/file_system.h"

#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <utility>

#include "env/files.h"

namespace runnel::env {
namespace {

constexpr std::array<std::string_view, 36> kNetworkNames = {
    "9p",          "afs",          "beegfs",         "beegfs_nodev",
    "ceph",        "cifs",         "coda",           "fuse.beegfs",
    "fuse.ceph",   "fuse.cephfs",  "fuse.gcsfuse",   "fuse.glusterfs",
    "fuse.goofys", "fuse.juicefs", "fuse.lustre",    "fuse.mountpoint-s3",
    "fuse.rclone", "fuse.s3fs",    "fuse.seaweedfs", "fuse.sshfs",
    "gfs2",        "glusterfs",    "gpfs",           "lustre",
    "ncpfs",       "nfs",          "nfs4",           "ocfs2",
    "orangefs",    "panfs",        "pvfs2",          "smb3",
    "smbfs",       "vboxsf",       "virtiofs",       "wekafs"};

static_assert(std::is_sorted(kNetworkNames.begin(), kNetworkNames.end()));

// linux/magic.h, and the documents of those that are not there.
constexpr std::array<std::pair<std::uint32_t, std::string_view>, 37> kNumbers = {{
    {0x0000'6969, "nfs"},      {0x0000'517b, "smbfs"},  {0xff53'4d42, "cifs"},
    {0xfe53'4d42, "smb3"},     {0x0102'1997, "9p"},     {0x0bd0'0bd0, "lustre"},
    {0x00c3'6400, "ceph"},     {0x5346'414f, "afs"},    {0x7375'7245, "coda"},
    {0x0116'1970, "gfs2"},     {0x7461'636f, "ocfs2"},  {0x4750'4653, "gpfs"},
    {0x2003'0528, "orangefs"}, {0x0000'ef53, "ext4"},   {0x5846'5342, "xfs"},
    {0x9123'683e, "btrfs"},    {0x0102'1994, "tmpfs"},  {0x794c'7630, "overlay"},
    {0x6573'5546, "fuse"},     {0x0000'9fa0, "proc"},   {0x1983'0326, "beegfs"},
    {0x6b41'4653, "afs"},      {0x786f'4256, "vboxsf"}, {0xaad7'aaea, "panfs"},
    {0x0000'564c, "ncpfs"},    {0x2fc1'2fc1, "zfs"},    {0xf2f5'2010, "f2fs"},
    {0xca45'1a4e, "bcachefs"}, {0x3153'464a, "jfs"},    {0x5265'4973, "reiserfs"},
    {0x0000'4d44, "vfat"},     {0x2011'bab0, "exfat"},  {0x5346'544e, "ntfs"},
    {0x7366'746e, "ntfs3"},    {0x8584'58f6, "ramfs"},  {0x0000'f15f, "ecryptfs"},
    {0x6175'6673, "aufs"},
}};

struct Mount {
  std::string point;
  std::string type;
};

// Spaces and tabs in a mount point are written as "\040" and "\011".
std::string unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                         is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escaped) {
      out += text[i];
      continue;
    }
    out +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
    i += 3;
  }
  return out;
}

// "36 35 98:0 /root /point options optional... - type source options"; an empty point when it is
// not of this form.
Mount parse_mount(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  Mount mount;
  for (int i = 0; i < 5; ++i) words >> word;
  const std::string point = word;
  while (words >> word && word != "-") {
  }
  if (words >> mount.type) mount.point = unescape(point);
  return mount;
}

bool is_below(std::string_view path, std::string_view point) {
  if (point == "/" || path == point) return true;
  return !point.empty() && path.starts_with(point) && path[point.size()] == '/';
}

Locality locality_of(std::string_view name) {
  if (name == "fuse") return Locality::kUnknown;  // Without a word of what serves it.
  const bool network = std::binary_search(kNetworkNames.begin(), kNetworkNames.end(), name);
  return network ? Locality::kNetwork : Locality::kLocal;
}

// The type of the file system of the path, or of its nearest parent that exists.
Result<std::uint32_t> file_system_number(std::filesystem::path path) {
  struct statfs info{};
  while (::statfs(path.c_str(), &info) != 0) {
    if (errno != ENOENT || !path.has_relative_path()) {
      return errno_error("ask the file system of " + path.string(), errno);
    }
    path = path.parent_path();
  }
  return static_cast<std::uint32_t>(info.f_type);
}

}  // namespace

FileSystem file_system_in(std::string_view mountinfo, std::string_view path) {
  std::istringstream lines{std::string(mountinfo)};
  Mount best;
  for (std::string line; std::getline(lines, line);) {
    Mount mount = parse_mount(line);
    // The later of two equal mount points is mounted above the earlier.
    if (is_below(path, mount.point) && mount.point.size() >= best.point.size()) best = mount;
  }
  return {best.type, locality_of(best.type)};
}

Result<FileSystem> file_system_of(const std::string& path) {
  std::error_code code;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, code);
  if (code) return errno_error("resolve " + path, code.value());
  const std::string absolute = std::filesystem::absolute(real, code).string();
  if (code) return errno_error("resolve " + path, code.value());
  FileSystem found = file_system_in(TRY(read_file("/proc/self/mountinfo")), absolute);
  if (!found.name.empty()) return found;
  return file_system_of_number(TRY(file_system_number(absolute)));
}

FileSystem file_system_of_number(std::uint32_t number) {
  const auto known = std::find_if(kNumbers.begin(), kNumbers.end(),
                                  [number](const auto& entry) { return entry.first == number; });
  if (known != kNumbers.end()) {
    return {std::string(known->second), locality_of(known->second)};
  }
  std::ostringstream name;
  name << "0x" << std::hex << number;
  return {name.str(), Locality::kUnknown};
}

namespace {

Bytes blocks_of(std::uint64_t count, const struct statvfs& info) {
  return Bytes::count(static_cast<std::int64_t>(count) * static_cast<std::int64_t>(info.f_frsize));
}

}  // namespace

Result<Bytes> free_space(const std::string& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0)
    return errno_error("ask the free space of " + path, errno);
  return blocks_of(info.f_bavail, info);
}

Result<Bytes> all_space(const std::string& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) return errno_error("ask the size of " + path, errno);
  return blocks_of(info.f_blocks, info);
}

Result<std::optional<std::int64_t>> free_inodes(const std::string& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0)
    return errno_error("ask the free inodes of " + path, errno);
  if (info.f_files == 0) return std::optional<std::int64_t>();
  return std::optional(static_cast<std::int64_t>(info.f_favail));
}

}  // namespace runnel::env
