#include "agent/used_mounts.h"

#include "env/files.h"
#include "env/remove_tree.h"

namespace runnel::agent {
namespace {

// Who holds it unmounts, or makes and removes some files.
constexpr Duration kLockPatience = Duration::seconds(20);

std::string uses_of(const std::string& place) { return place + "/uses"; }

std::string file_of(const std::string& place, const runner::AttemptOnNode& of) {
  const model::TaskRef& task = of.attempt.task;
  return uses_of(place) + "/" + task.job.str() + "." + std::to_string(task.step.value()) + "." +
         std::to_string(task.index.value()) + "." + std::to_string(of.attempt.attempt.value()) +
         "." + of.node.str();
}

}  // namespace

UsedMounts::UsedMounts(const std::string& home)
    : folder_(env::real_path(home).value_or(home) + "/mounts") {}

std::string UsedMounts::place_of(const model::VolumeUse& use) const {
  return folder_ + "/" + use.volume + "@" + use.version;
}

Result<void> UsedMounts::add(const model::VolumeUse& use,
                             const runner::AttemptOnNode& attempt) const {
  TRY(env::make_directories(folder_, env::Access::kOwner));
  const env::FileLock lock = TRY(env::FileLock::acquire_within(lock_file(), kLockPatience));
  const std::string place = place_of(use);
  TRY(env::make_directories(uses_of(place)));
  TRY(env::append_file(file_of(place, attempt), ""));
  return env::make_directories(tree_of(place));
}

Result<void> UsedMounts::remove(const model::VolumeUse& use,
                                const runner::AttemptOnNode& attempt) const {
  const std::string place = place_of(use);
  if (!env::exists(uses_of(place))) return {};
  const env::FileLock lock = TRY(env::FileLock::acquire_within(lock_file(), kLockPatience));
  return env::remove_file(file_of(place, attempt));
}

Result<env::FileLock> UsedMounts::lock_showing(const std::string& place, Duration patience) {
  return env::FileLock::acquire_within(place + "/.lock", patience);
}

Result<bool> UsedMounts::is_used(const std::string& place) {
  const Result<std::vector<std::string>> uses = env::list_directory(uses_of(place));
  if (!uses.ok() && uses.error().code == Errc::kNotFound) return false;
  return !TRY(Result<std::vector<std::string>>(uses)).empty();
}

Result<bool> UsedMounts::remove_unused(const std::string& place,
                                       const std::function<Result<void>()>& unmount) const {
  const env::FileLock lock = TRY(env::FileLock::acquire_within(lock_file(), kLockPatience));
  if (TRY(is_used(place))) return false;
  const Result<void> done = unmount();
  if (!done.ok() && done.error().code == Errc::kConflict) return false;
  TRY(Result<void>(done));
  TRY(env::remove_tree(place));
  return true;
}

}  // namespace runnel::agent
