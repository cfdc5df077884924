#include "cli/mount_of_attempts.h"

#include "cli/printable.h"
#include "env/clock.h"
#include "fuse/error_notices.h"
#include "fuse/mount_point.h"

namespace runnel::cli {

static_assert(agent::UsedMounts::kSaidEvery == fuse::ErrorNotices::kQuiet);

// What is noted there is of a mount before this one.
MountOfAttempts::MountOfAttempts(const home::Home& home, std::string place)
    : mounts_(home.root), place_(std::move(place)), held_(agent::UsedMounts::lock_holding(place_)) {
  (void)agent::UsedMounts::forget_notes(place_);
  (void)agent::UsedMounts::unmark_published(place_);
}

void MountOfAttempts::look() {
  const Result<bool> used = agent::UsedMounts::is_used(place_);
  const Duration now = env::real_clock().boot();
  if (!used.ok() || *used) return unused_since_.reset();
  if (!unused_since_) unused_since_ = now;
  const bool is_at_once = !is_damage_seen_ && agent::UsedMounts::is_damaged(place_);
  if (!is_at_once && now - *unused_since_ < kLinger) return;
  is_damage_seen_ = is_damage_seen_ || is_at_once;
  const std::string tree = agent::UsedMounts::tree_of(place_);
  const auto unmount = [&] { return fuse::unmount_folder(tree, fuse::Unmount::kUnused); };
  // Who stands in it, or is about to use it, has it for another while.
  const Result<bool> ended = mounts_.remove_unused(place_, unmount);
  if (!ended.ok() || !*ended) unused_since_.reset();
}

// A disk that takes no note keeps the mount from nothing.
void MountOfAttempts::note(const volume_server::MountNews& news) {
  using ReadFailure = agent::UsedMounts::ReadFailure;
  const bool is_damage = news.kind == volume_server::MountNews::Kind::kDamaged;
  (void)agent::UsedMounts::note(place_, is_damage ? ReadFailure::kDamaged : ReadFailure::kUnread,
                                printable(news.why));
}

// The next one may be there already.
void MountOfAttempts::end(Ends how) {
  if (how == Ends::kPublished) (void)agent::UsedMounts::mark_published(place_);
  const auto unmounted = [this]() -> Result<void> {
    const bool is_there = fuse::mount_in(agent::UsedMounts::tree_of(place_)).has_value();
    return is_there ? Result<void>(Error(Errc::kConflict, "another mount is there"))
                    : Result<void>();
  };
  (void)mounts_.remove_unused(place_, unmounted);
}

}  // namespace runnel::cli
