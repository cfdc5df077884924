#include "env/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "base/check.h"
#include "env/files.h"

namespace runnel::env {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

// The number at the front of `text`; nothing for "max" or a file that is not there.
std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::string text_of(const std::string& path) { return read_file(path).value_or(""); }

// "8:memory:/a/b" gives the folders of the memory controller for "/a/b", "/a" and "/" below `root`.
struct Group {
  std::string controllers;  // "" for version 2.
  std::string path;
};

std::vector<Group> parse_groups(const std::string& text) {
  std::vector<Group> groups;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    groups.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return groups;
}

bool has_controller(const Group& group, std::string_view name) {
  std::istringstream names(group.controllers);
  for (std::string each; std::getline(names, each, ',');) {
    if (each == name) return true;
  }
  return false;
}

// The folders whose limits bind us: the own group and those above it, in both cgroup versions.
std::vector<std::string> group_folders(const std::string& root, std::string_view controller) {
  std::vector<std::string> folders;
  for (const Group& group : parse_groups(text_of(root + "/proc/self/cgroup"))) {
    const bool version_2 = group.controllers.empty();
    if (!version_2 && !has_controller(group, controller)) continue;
    const std::string mount = root + "/sys/fs/cgroup" + (version_2 ? "" : "/" + group.controllers);
    // A container sees its own group as the mount's top, whatever path is written.
    for (std::string path = group.path; path != "/" && path != "."; path = parent_of(path)) {
      folders.push_back(mount + path);
    }
    folders.push_back(mount);
  }
  return folders;
}

// "200000 100000" is two cpus; "max 100000" no limit.
std::int64_t milli_cpus_of(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return kInt64Max;
  return std::max<std::int64_t>(1, *quota * 1000 / *period);
}

std::int64_t quota_in(const std::string& folder) {
  const std::string both = text_of(folder + "/cpu.max");
  const std::size_t space = both.find(' ');
  if (space != both.npos) return milli_cpus_of(number_in(both), number_in(both.substr(space + 1)));
  return milli_cpus_of(number_in(text_of(folder + "/cpu.cfs_quota_us")),
                       number_in(text_of(folder + "/cpu.cfs_period_us")));
}

std::int64_t memory_limit_in(const std::string& folder) {
  const std::int64_t unified = number_in(text_of(folder + "/memory.max")).value_or(kInt64Max);
  const std::int64_t legacy =
      number_in(text_of(folder + "/memory.limit_in_bytes")).value_or(kInt64Max);
  return std::min(unified, legacy);
}

// Room for more processors than a cpu_set_t of fixed size has.
std::int64_t usable_processors() {
  constexpr std::size_t kProcessorsMax = 1 << 16;
  std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(kProcessorsMax) / sizeof(cpu_set_t));
  const std::size_t size = set.size() * sizeof(cpu_set_t);
  if (::sched_getaffinity(0, size, set.data()) != 0) return ::sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT_S(size, set.data());
}

Result<Bytes> total_memory(const std::string& root) {
  const std::string text = TRY(read_file(root + "/proc/meminfo"));
  constexpr std::string_view kName = "MemTotal:";
  const std::size_t at = text.find(kName);
  const std::size_t digits = at == text.npos ? at : text.find_first_not_of(' ', at + kName.size());
  const std::optional<std::int64_t> kibi =
      digits == text.npos ? std::nullopt : number_in(std::string_view(text).substr(digits));
  if (!kibi)
    return Error(Errc::kUnsupported, "/proc/meminfo does not tell the memory of the machine");
  return Bytes::kibi(*kibi);
}

}  // namespace

Result<MachineCapacity> machine_capacity(const std::string& root) {
  MachineCapacity capacity;
  capacity.milli_cpus = usable_processors() * 1000;
  CHECK(capacity.milli_cpus > 0, "a running process has a processor");
  for (const std::string& folder : group_folders(root, "cpu")) {
    capacity.milli_cpus = std::min(capacity.milli_cpus, quota_in(folder));
  }
  std::int64_t memory = TRY(total_memory(root)).count();
  for (const std::string& folder : group_folders(root, "memory")) {
    memory = std::min(memory, memory_limit_in(folder));
  }
  capacity.memory = Bytes::count(memory);
  return capacity;
}

Result<std::string> boot_id() {
  std::string text = TRY(read_file("/proc/sys/kernel/random/boot_id"));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return Error(Errc::kUnsupported, "the kernel tells no boot id");
  return text;
}

Result<std::int64_t> pid_namespace() {
  const FileId id = TRY(file_id("/proc/self/ns/pid"));
  return id.inode;
}

Result<std::string> hostname() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0)
    return errno_error("ask the hostname", errno);
  return std::string(name.data());
}

}  // namespace runnel::env
