#include "cli/mount_of_attempts.h"

#include "env/clock.h"
#include "fuse/mount_point.h"

namespace runnel::cli {

void MountOfAttempts::look() {
  const Result<bool> used = agent::UsedMounts::is_used(place_);
  const Duration now = env::real_clock().boot();
  if (!used.ok() || *used) return unused_since_.reset();
  if (!unused_since_) unused_since_ = now;
  if (now - *unused_since_ < kLinger) return;
  const std::string tree = agent::UsedMounts::tree_of(place_);
  const auto unmount = [&] { return fuse::unmount_folder(tree, fuse::Unmount::kUnused); };
  // Who stands in it, or is about to use it, has it for another while.
  const Result<bool> ended = mounts_.remove_unused(place_, unmount);
  if (!ended.ok() || !*ended) unused_since_.reset();
}

void MountOfAttempts::end() {
  (void)mounts_.remove_unused(place_, [] { return Result<void>(); });
}

}  // namespace runnel::cli
