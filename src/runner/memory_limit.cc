#include "runner/memory_limit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "runner/process_tree.h"

namespace runnel::runner {
namespace {

constexpr std::string_view kMountV1 = "/sys/fs/cgroup/memory";
constexpr std::string_view kGroupPrefix = "runnel-";

Result<void> write_value(const std::string& path, std::string_view value) {
  const async::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno_error("open " + path, errno);
  if (::write(file.get(), value.data(), value.size()) < 0) {
    return errno_error("write " + path, errno);
  }
  return {};
}

// The path after `prefix` in a line of /proc/self/cgroup: "7:memory:/a/b" or "0::/a/b".
std::string own_group(std::string_view middle) {
  const std::string text = read_small_file("/proc/self/cgroup");
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const std::size_t at = line.find(middle);
    if (at != std::string_view::npos && at == line.find(':')) {
      const std::string_view path = line.substr(at + middle.size());
      return path == "/" ? std::string() : std::string(path);
    }
    start = end + 1;
  }
  return {};
}

// The place where the unified hierarchy is mounted: alone, or beside version 1.
std::string mount_v2() {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (env::exists(std::string(path) + "/cgroup.controllers")) return path;
  }
  return {};
}

// "runnel-TOKEN-PID-NUMBER", as make() gives it; a service may have a name that begins so.
bool is_name_of_group(std::string_view name) {
  if (!name.starts_with(kGroupPrefix)) return false;
  for (int numbers = 0; numbers < 2; ++numbers) {
    const std::size_t dash = name.rfind('-');
    const std::string_view digits = name.substr(dash + 1);
    const bool is_number =
        !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return false;
    name = name.substr(0, dash);
  }
  return name.size() > kGroupPrefix.size();
}

// The number after "oom_kill " in the kernel's counters.
std::int64_t kill_count(const std::string& text) {
  const std::size_t at = text.find("oom_kill ");
  return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + 9, nullptr, 10);
}

}  // namespace

std::string_view describe(MemoryWay way) {
  switch (way) {
    case MemoryWay::kGroupV1: return "by its cgroup (v1)";
    case MemoryWay::kGroupV2: return "by its cgroup (v2)";
    case MemoryWay::kWatch: break;
  }
  return "by watching, every 500 ms: no memory cgroup can be made here";
}

void leave_memory_group() {
  const std::string by_version_1 = std::string(kMountV1) + own_group(":memory:");
  for (const std::string& group : {by_version_1, mount_v2() + own_group("::")}) {
    const std::size_t name = group.rfind('/') + 1;
    if (!is_name_of_group(std::string_view(group).substr(name))) continue;
    (void)write_value(group.substr(0, name) + "cgroup.procs", std::to_string(::getpid()));
  }
}

MemoryGroups::~MemoryGroups() {
  for (const MemoryGroup& group : free_) ::rmdir(group.path.c_str());
}

MemoryWay MemoryGroups::way() {
  probe();
  return way_;
}

void MemoryGroups::probe() {
  if (std::exchange(probed_, true)) return;
  if (probe_v1()) {
    way_ = MemoryWay::kGroupV1;
  } else if (probe_v2()) {
    way_ = MemoryWay::kGroupV2;
  } else {
    parent_.clear();
  }
}

bool MemoryGroups::probe_v1() {
  parent_ = std::string(kMountV1) + own_group(":memory:");
  if (!env::exists(parent_ + "/memory.limit_in_bytes")) return false;
  way_ = MemoryWay::kGroupV1;
  Result<MemoryGroup> group = take(Bytes::gibi(1));
  if (group.ok()) give_back(std::move(*group));
  return !free_.empty();
}

bool MemoryGroups::probe_v2() {
  const std::string mount = mount_v2();
  if (mount.empty()) return false;
  parent_ = mount + own_group("::");
  // Refused while the group has processes of its own, and not needed where it is on already.
  (void)write_value(parent_ + "/cgroup.subtree_control", "+memory");
  way_ = MemoryWay::kGroupV2;
  Result<MemoryGroup> group = take(Bytes::gibi(1));
  if (group.ok()) give_back(std::move(*group));
  return !free_.empty();
}

Result<MemoryGroup> MemoryGroups::make() {
  CHECK(!parent_.empty(), "a memory group without a group around it");
  MemoryGroup group;
  group.path = parent_ + "/" + std::string(kGroupPrefix) + token_ + "-" +
               std::to_string(::getpid()) + "-" + std::to_string(made_++);
  if (::mkdir(group.path.c_str(), 0755) != 0) return errno_error("make " + group.path, errno);
  const std::string processes = group.path + "/cgroup.procs";
  group.processes = async::UniqueFd(::open(processes.c_str(), O_WRONLY | O_CLOEXEC));
  if (group.processes.valid()) return group;
  const int error = errno;
  ::rmdir(group.path.c_str());
  return errno_error("open " + processes, error);
}

Result<void> MemoryGroups::set_limit(const MemoryGroup& group, Bytes limit) const {
  const std::string value = std::to_string(limit.count());
  if (way_ == MemoryWay::kGroupV2) return write_value(group.path + "/memory.max", value);
  // Memory plus swap may never be under memory alone: lift it first, then set both.
  const std::string with_swap = group.path + "/memory.memsw.limit_in_bytes";
  if (env::exists(with_swap)) TRY(write_value(with_swap, "-1"));
  TRY(write_value(group.path + "/memory.limit_in_bytes", value));
  if (env::exists(with_swap)) TRY(write_value(with_swap, value));
  return {};
}

Result<MemoryGroup> MemoryGroups::take(Bytes limit) {
  CHECK(way_ != MemoryWay::kWatch, "a memory group where none can be made");
  MemoryGroup group;
  if (free_.empty()) {
    group = TRY(make());
  } else {
    group = std::move(free_.back());
    free_.pop_back();
  }
  if (group.limit != limit) {
    const Result<void> set = set_limit(group, limit);
    if (!set.ok()) {
      ::rmdir(group.path.c_str());
      return set.error();
    }
  }
  group.limit = limit;
  group.kills_before = kills(group);
  return group;
}

std::int64_t MemoryGroups::kills(const MemoryGroup& group) const {
  const char* name = way_ == MemoryWay::kGroupV2 ? "/memory.events" : "/memory.oom_control";
  return kill_count(read_small_file(group.path + name, 4096));
}

bool MemoryGroups::over_limit(const MemoryGroup& group) const {
  return kills(group) > group.kills_before;
}

void MemoryGroups::give_back(MemoryGroup group) {
  // Somebody is still inside (a process that cannot be killed): not for others to share.
  if (!read_small_file(group.path + "/cgroup.procs", 64).empty()) return;
  free_.push_back(std::move(group));
}

void MemoryGroups::remove_left() {
  const std::string mount = mount_v2();
  const std::string prefix = "runnel-" + token_ + "-";
  for (const std::string& parent :
       {std::string(kMountV1) + own_group(":memory:"), mount + own_group("::")}) {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(parent.c_str()), ::closedir);
    while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
      if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
      ::rmdir((parent + "/" + entry->d_name).c_str());
    }
  }
}

}  // namespace runnel::runner
