#include "agent/suspect_mounts.h"

#include <mntent.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/shell_word.h"
#include "env/files.h"

namespace runnel::agent {
namespace {

constexpr std::size_t kSuspectsNamed = 3;
constexpr int kLinksMax = 40;  // Linux's own.

bool lies_on(std::string_view path, std::string_view mount) {
  if (mount == "/" || path == mount) return true;
  return path.starts_with(mount) && path[mount.size()] == '/';
}

// Those at this folder and below it, each once.
std::vector<std::string> mounts_from(const std::string& folder,
                                     const std::vector<std::string>& mounts) {
  std::vector<std::string> found;
  for (const std::string& mount : mounts) {
    const bool known = std::find(found.begin(), found.end(), mount) != found.end();
    if (lies_on(mount, folder) && !known) found.push_back(mount);
  }
  return found;
}

// Whether the system itself needs the mount.
bool is_the_systems(std::string_view mount) {
  if (mount == "/") return true;
  if (mount.starts_with("/dev/shm/")) return false;  // People's files lie there, too.
  constexpr std::array<std::string_view, 3> kOfTheKernel = {"/proc", "/sys", "/dev"};
  return std::any_of(kOfTheKernel.begin(), kOfTheKernel.end(),
                     [mount](std::string_view place) { return lies_on(mount, place); });
}

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
}

// Takes the first part from the path that is left.
std::string take_part(std::string& left) {
  const std::size_t begin = std::min(left.find_first_not_of('/'), left.size());
  const std::size_t end = std::min(left.find('/', begin), left.size());
  std::string part = left.substr(begin, end - begin);
  left.erase(0, end);
  return part;
}

std::string remedy_of(const std::string& name, const std::vector<std::string>& suspects) {
  if (lies_on(name, "/proc")) {
    return "a process that waits for a dead mount keeps others from reading of it: see which are "
           "in state D: ps -eo pid,stat,comm; and mend the mount";
  }
  std::string look = "see whether its disk or mount answers, and mend it";
  if (suspects.empty() || is_the_systems(suspects[0])) return look;
  return look + "; " + unmount_text(suspects);
}

}  // namespace

std::string names_of(const std::vector<std::string>& suspects) {
  CHECK(!suspects.empty(), "names of nobody");
  if (suspects.size() == 1) return suspects[0];
  std::string names = "one of ";
  for (std::size_t i = 0; i < std::min(suspects.size(), kSuspectsNamed); ++i) {
    names += (i > 0 ? ", " : "") + suspects[i];
  }
  if (suspects.size() <= kSuspectsNamed) return names;
  return names + " and " + std::to_string(suspects.size() - kSuspectsNamed) + " more";
}

std::string unmount_text(const std::vector<std::string>& suspects) {
  return "a mount that is dead for good: umount --lazy " +
         (suspects.size() == 1 ? shell_word(suspects[0]) : "PATH");
}

std::vector<std::string> mounts_below(const std::string& folder,
                                      const std::vector<std::string>& mounts) {
  std::vector<std::string> below = mounts_from(folder, mounts);
  std::erase(below, folder);
  return below;
}

PathTrail::Place PathTrail::place() const {
  const std::scoped_lock lock(mutex_);
  return place_;
}

void PathTrail::set(Place place) {
  const std::scoped_lock lock(mutex_);
  place_ = std::move(place);
}

void PathTrail::follow(std::string path) {
  std::string left = std::move(path);
  std::string real;
  for (int links = 0; links <= kLinksMax;) {
    const std::string part = take_part(left);
    if (part.empty()) break;
    if (part == ".") continue;
    if (part == "..") {
      real = env::parent_of(real);
      if (real == "/") real.clear();
      continue;
    }
    const std::string next = real + "/" + part;
    set({next, false});
    const std::string target = target_of(next);
    if (target.starts_with('/')) real.clear();
    if (target.empty()) real = next;
    if (!target.empty()) left.insert(0, target);
    links += target.empty() ? 0 : 1;
  }
  set({real.empty() ? "/" : real, true});
}

bool is_dead_mount(const std::string& folder) {
  struct statvfs totals;
  return ::statvfs(folder.c_str(), &totals) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

std::vector<std::string> mounted_places() {
  const std::unique_ptr<FILE, int (*)(FILE*)> table(::setmntent("/proc/self/mounts", "re"),
                                                    ::endmntent);
  std::array<char, std::size_t{3} * PATH_MAX> text{};
  mntent entry{};
  std::vector<std::string> places;
  while (table != nullptr && ::getmntent_r(table.get(), &entry, text.data(),
                                           static_cast<int>(text.size())) != nullptr) {
    places.emplace_back(entry.mnt_dir);
  }
  return places;
}

std::vector<std::string> suspect_mounts(const std::string& real_path, Reach reach,
                                        const std::vector<std::string>& mounts) {
  if (reach == Reach::kBelow) {
    std::vector<std::string> from = mounts_from(real_path, mounts);
    if (!from.empty()) return from;
  }
  std::string under;
  for (const std::string& mount : mounts) {
    if (lies_on(real_path, mount) && mount.size() > under.size()) under = mount;
  }
  return under.empty() ? std::vector<std::string>() : std::vector<std::string>{under};
}

Error silence_of(const std::string& folder, const std::vector<std::string>& suspects, Time since) {
  const std::string name = suspects.empty() ? folder : names_of(suspects);
  return Error(Errc::kUnavailable, name + " has not answered since " + rfc3339(since))
      .with_hint(remedy_of(name, suspects));
}

}  // namespace runnel::agent
