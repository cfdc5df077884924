#include "agent/removed_jobs.h"

#include <set>
#include <utility>

#include "agent/suspect_mounts.h"
#include "agent/used_mounts.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

std::string trash_folder(const std::string& home) { return beside_jobs(home, "trash"); }

// The folder of `job` in `parent`, whose path has no links, as the kernel names mounts. Asks
// nothing of the folder itself: a mount may hide it, too.
Result<std::string> unmounted(const std::string& parent, const JobId& job) {
  std::string folder = parent + "/" + job.str();
  std::vector<std::string> within = mounts_below(parent, mounted_places());
  std::erase_if(within, [&](const std::string& mount) {
    return mount != folder && !mount.starts_with(folder + "/");
  });
  if (within.empty()) return folder;
  return Error(Errc::kConflict,
               names_of(within) + " is mounted there, and what is mounted is not removed")
      .with_value(within.front())
      .with_hint(unmount_text(within));
}

Result<std::string> unmounted_in_jobs(const std::string& home, const JobId& job) {
  return unmounted(TRY(env::real_path(output::jobs_folder(home))), job);
}

Result<void> move_and_remove(const std::string& home, const JobId& job) {
  const std::string trash = trash_folder(home);
  TRY(env::make_directories(trash, env::Access::kOwner));
  const std::string doomed = TRY(unmounted(TRY(env::real_path(trash)), job));
  TRY(env::remove_tree(doomed));
  if (!env::exists(output::jobs_folder(home))) return {};
  const std::string folder = TRY(unmounted_in_jobs(home, job));
  if (!TRY(env::is_there(folder))) return {};
  TRY(env::rename_file(folder, doomed));
  return env::remove_tree(doomed);
}

}  // namespace

std::string beside_jobs(const std::string& home, const std::string& name) {
  const Result<std::string> jobs = env::real_path(output::jobs_folder(home));
  const Result<env::FileId> there = env::file_id(output::jobs_folder(home));
  const Result<env::FileId> here = env::file_id(home);
  const bool elsewhere = jobs.ok() && there.ok() && here.ok() && there->device != here->device;
  return elsewhere ? *jobs + "/." + name : home + "/" + name;
}

Result<void> remove_job_files(const std::string& home, const JobId& job) {
  TRY(UsedMounts::remove_logs_of(home, job));
  Result<void> moved = move_and_remove(home, job);
  if (moved.ok() || moved.error().code != Errc::kFull) return moved;
  const std::string folder = TRY(unmounted_in_jobs(home, job));
  return env::remove_tree(folder);
}

Result<std::vector<JobId>> jobs_with_files(const std::string& home) {
  const std::vector<JobId> with_folders = TRY(output::jobs_with_folders(home));
  std::set<JobId> jobs(with_folders.begin(), with_folders.end());
  const std::string trash = trash_folder(home);
  if (!env::exists(trash)) return std::vector<JobId>(jobs.begin(), jobs.end());
  for (const std::string& name : TRY(env::list_directory(trash))) {
    const Result<JobId> job = JobId::parse(name);
    if (job.ok()) jobs.insert(*job);
  }
  return std::vector<JobId>(jobs.begin(), jobs.end());
}

}  // namespace runnel::agent
