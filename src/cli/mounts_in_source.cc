#include "cli/mounts_in_source.h"

#include "base/check.h"

namespace runnel::cli {
namespace {

bool is_in(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

std::string warning_of(const fuse::Mounted& mount) {
  return "runnel: warning: " + mount.folder + " is a mount of a volume (" + mount.source +
         "), whose files are put as well; to leave them out: runnel volume umount " + mount.folder;
}

}  // namespace

std::vector<std::string> warnings_of_mounts(const std::string& source,
                                            const std::vector<fuse::Mounted>& mounts) {
  CHECK(source.starts_with('/'), "the path of a source begins at the root");
  std::vector<std::string> warnings;
  std::size_t others = 0;
  for (const fuse::Mounted& mount : mounts) {
    if (!is_in(mount.folder, source) && !is_in(source, mount.folder)) continue;
    if (warnings.size() < kMountsTold) {
      warnings.push_back(warning_of(mount));
    } else {
      ++others;
    }
  }
  if (others > 0) {
    warnings.push_back("runnel: warning: and " + std::to_string(others) +
                       " more mounts of volumes");
  }
  return warnings;
}

}  // namespace runnel::cli
