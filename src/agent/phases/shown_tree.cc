#include "agent/phases/shown_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "agent/suspect_mounts.h"
#include "agent/used_mounts.h"
#include "env/files.h"

namespace runnel::agent {

Shown shown_in(const std::string& place) {
  const std::string tree = UsedMounts::tree_of(place);
  const std::vector<std::string> mounts = mounted_places();
  if (std::find(mounts.begin(), mounts.end(), tree) != mounts.end()) {
    return is_dead_mount(tree) ? Shown::kDeadMount : Shown::kMount;
  }
  const Result<std::vector<std::string>> names = env::list_directory(tree);
  const bool has_files = names.ok() && !names->empty();
  return has_files && UsedMounts::is_copy(place) ? Shown::kCopy : Shown::kNothing;
}

bool can_mount(const std::string& fuse) {
  struct stat seen{};
  return ::stat(fuse.c_str(), &seen) == 0 && S_ISCHR(seen.st_mode) &&
         ::access(fuse.c_str(), R_OK | W_OK) == 0;
}

}  // namespace runnel::agent
