#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/file_lock.h"
#include "model/spec.h"
#include "runner/message.h"

namespace runnel::agent {

// The versions of volumes that attempts of a home read, each in a folder that all of them share:
// `<home>/mounts/NAME@VERSION-STORE/tree`, with a file for each of them in `uses` beside it. STORE
// is a part of the hash of the store's URL: equal versions of two stores are two places. And the
// branches that they write, each in `BRANCH.ATTEMPT@NAME-STORE/tree`.
//
// Contract: add() and remove() are idempotent, and what add() has returned from is not taken away
//           before remove(): both, and remove_unused(), hold one lock of the home. A kill leaves
//           the files of its attempts, by whose names whoever comes next removes them.
// Threads:  any; blocks.
// Why:      those who mount, those who read and those who unmount are different processes, and each
//           may be killed. docs/design/job_volumes.md.
class UsedMounts {
 public:
  // The kernel knows mounts by their paths without links, so that the home's is looked up.
  explicit UsedMounts(const std::string& home);

  const std::string& folder() const { return folder_; }
  // All of what a version has here, and the folder in it that its files are to be found in.
  std::string place_of(const model::VolumeUse& use) const;
  // The same of a branch that one attempt writes.
  std::string place_of_branch(const model::VolumeUse& use, const std::string& branch,
                              AttemptNumber attempt) const;
  static std::string tree_of(const std::string& place) { return place + "/tree"; }

  // From here on the attempt uses the version; its folders are made.
  Result<void> add(const std::string& place, const runner::AttemptOnNode& attempt) const;
  Result<void> remove(const std::string& place, const runner::AttemptOnNode& attempt) const;

  // Whether all that was written in a place is published, and nothing is written there any more:
  // said by whoever held its mount. Not synced: it is found out again after a power loss.
  static Result<void> mark_published(const std::string& place);
  // To be called by who holds another mount of the place.
  static Result<void> unmark_published(const std::string& place);
  static bool is_published(const std::string& place);

  // Removes the log of an attempt that writes this branch no more, of whatever volume
  // (fuse/serve_branch.h): its server does so at its end, unless it was killed.
  Result<void> remove_log(const std::string& branch, AttemptNumber attempt) const;
  // The same of all attempts of a job.
  static Result<void> remove_logs_of(const std::string& home, const JobId& job);
  static std::string log_name(const std::string& branch, AttemptNumber attempt);

  // All of them, of any attempt; what else is in the folder is somebody's.
  Result<std::vector<std::string>> places() const;

  // Whether the tree is a whole copy, made since the machine was started: after a power loss nobody
  // knows what of it is on the disk.
  static bool is_copy(const std::string& place);
  // To be said before the copy, which is whole, gets the tree's name.
  static Result<void> mark_copy(const std::string& place);
  // Empties the tree: what is left of a copy goes, and what a task has written where a mount was no
  // more moves to `<home>/mounts/strays`, where it stays.
  Result<void> clear_tree(const std::string& place) const;

  // Held by who brings the files of a place that is used.
  static Result<env::FileLock> lock_showing(const std::string& place, Duration patience);

  // Held for as long as it lives by whoever ends the mount of a place once nobody uses it.
  static Result<env::FileLock> lock_holding(const std::string& place);
  static bool is_held(const std::string& place) { return !lock_holding(place).ok(); }

  // Why readers of a place got errors, noted by whoever holds its mount: a sentence. What is
  // damaged stays so in this mount, also when the volume is repaired. Not synced: a mount is gone
  // after a power loss.
  enum class ReadFailure : std::uint8_t { kUnread, kDamaged };
  static Result<void> note(const std::string& place, ReadFailure kind, const std::string& why);
  static bool is_damaged(const std::string& place);
  // What is noted of a place that an attempt which began at `begun` may have failed by; none:
  // nothing. A note may be older by kSaidEvery, within which a cause is not noted again.
  static constexpr Duration kSaidEvery = Duration::minutes(1);
  static std::optional<std::string> noted(const std::string& place, Time begun);
  // To be called before the place has another mount.
  static Result<void> forget_notes(const std::string& place);

  static Result<bool> is_used(const std::string& place);
  // Where nobody uses a place, ends what shows the files there, and removes it. False when it is
  // used, or busy otherwise.
  Result<bool> remove_unused(const std::string& place,
                             const std::function<Result<void>()>& unmount) const;

 private:
  std::string lock_file() const { return folder_ + "/.lock"; }

  std::string folder_;
};

}  // namespace runnel::agent
