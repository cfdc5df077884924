#include "runner/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "env/files.h"
#include "env/obstacle.h"
#include "output/job_output.h"
#include "output/paths.h"

namespace runnel::runner {
namespace {

constexpr mode_t kFolderMode = 0755;

using OpenFolder = std::unique_ptr<DIR, int (*)(DIR*)>;

// Null when `name` is no folder, or a link to one: what a task links to is not ours.
OpenFolder open_folder(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const int folder = ::openat(parent, name.c_str(), kFlags);
  return {folder < 0 ? nullptr : ::fdopendir(folder), ::closedir};
}

std::vector<std::string> names_in(DIR* folder) {
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// By what the path names: a checkpoint folder may be a link to another disk.
bool holds_something(const std::string& path) {
  const OpenFolder dir(::opendir(path.c_str()), ::closedir);
  return dir && !names_in(dir.get()).empty();
}

// The time of change that says "as we made it": any later change of the folder sets a real one.
constexpr timespec kUntouched{1, 0};

void mark_untouched(const std::string& folder) {
  const timespec times[2] = {kUntouched, kUntouched};
  ::utimensat(AT_FDCWD, folder.c_str(), times, 0);
}

bool untouched(const std::string& folder) {
  struct stat status{};
  return ::stat(folder.c_str(), &status) == 0 && status.st_mtim.tv_sec == kUntouched.tv_sec &&
         status.st_mtim.tv_nsec == kUntouched.tv_nsec;
}

// All folders from `top` down to `folder`, which lies inside it.
bool untouched_down_to(const std::string& top, std::string folder) {
  while (folder.size() > top.size()) {
    if (!untouched(folder)) return false;
    folder.resize(folder.rfind('/'));
  }
  return untouched(top);
}

// Deeper folders count as something left: each level takes a descriptor and a part of the stack.
constexpr int kDepthMax = 64;

bool remove_empty_in(int parent, const std::string& name, int depth) {
  const OpenFolder folder = open_folder(parent, name);
  if (!folder || depth == kDepthMax) return false;
  for (const std::string& entry : names_in(folder.get())) {
    if (!remove_empty_in(::dirfd(folder.get()), entry, depth + 1)) return false;
  }
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

// Removes the folder if it holds nothing but empty folders. A link in it is something.
bool remove_empty(const std::string& folder) { return remove_empty_in(AT_FDCWD, folder, 0); }

}  // namespace

TaskFolders::TaskFolders(const std::string& home, const JobId& job)
    : home_(home), job_(output::job_folder(home, job)) {}

std::string TaskFolders::lasting_path(const model::AttemptRef& attempt) const {
  return output::task_folder(home_, attempt.task);
}

std::string TaskFolders::lane_path(std::uint32_t slot) const {
  return job_ + "/lanes/" + std::to_string(slot);
}

Result<TaskFolder> TaskFolders::take(std::uint32_t slot, const model::AttemptRef& attempt,
                                     TaskFolderKind kind, const std::string& checkpoint_dir) {
  const bool again = attempt.attempt.value() > 1;
  if (kind == TaskFolderKind::kLasting || (again && env::exists(lasting_path(attempt)))) {
    return take_lasting(attempt, checkpoint_dir);
  }
  TRY(make_ready(slot, checkpoint_dir));
  const std::string lasting = lasting_path(attempt);
  if (!move_folder(lane_path(slot), lasting)) return take_lasting(attempt, checkpoint_dir);
  return TaskFolder{.path = lasting, .checkpoint = lasting + "/" + checkpoint_dir, .of_lane = true};
}

Result<TaskFolder> TaskFolders::take_lasting(const model::AttemptRef& attempt,
                                             const std::string& checkpoint_dir) {
  TaskFolder folder;
  folder.path = lasting_path(attempt);
  folder.checkpoint = folder.path + "/" + checkpoint_dir;
  folder.resume = attempt.attempt.value() > 1 && holds_something(folder.checkpoint);
  TRY(env::refuse_obstacle(folder.checkpoint));
  TRY(env::make_directories(folder.checkpoint));
  return folder;
}

Result<void> TaskFolders::make_ready(std::uint32_t slot, const std::string& checkpoint_dir) {
  const auto ready = ready_.find(slot);
  const bool as_wanted = ready != ready_.end() && ready->second == checkpoint_dir;
  if (ready != ready_.end()) ready_.erase(ready);
  const std::string folder = lane_path(slot);
  std::string path = folder + "/" + checkpoint_dir;
  if (as_wanted) return {};
  // A link that a task put in their place leads elsewhere; a folder is not unlinked.
  ::unlink((job_ + "/lanes").c_str());
  ::unlink(folder.c_str());
  if (env::exists(path)) return {};
  // Another step used another name for its checkpoints.
  remove_empty(folder);
  TRY(env::make_directories(path));
  for (; path.size() >= folder.size(); path.resize(path.rfind('/'))) mark_untouched(path);
  return {};
}

// False when something is there already, or the disk says no.
bool TaskFolders::move_folder(const std::string& from, const std::string& to) const {
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  return errno == ENOENT && env::make_directories(job_ + "/tasks").ok() &&
         ::rename(from.c_str(), to.c_str()) == 0;
}

void TaskFolders::give_back(std::uint32_t slot, const TaskFolder& folder) {
  if (!folder.of_lane || !untouched_down_to(folder.path, folder.checkpoint)) return;
  // A slot of its own is not given out again.
  if (!output::is_alone(slot) && move_folder(folder.path, lane_path(slot))) {
    ready_[slot] = folder.checkpoint.substr(folder.path.size() + 1);
  } else {
    remove_empty(folder.path);
  }
}

void TaskFolders::settle(std::uint32_t slot, const model::AttemptRef& attempt) {
  remove_empty(lane_path(slot));
  remove_empty(lasting_path(attempt));
}

void TaskFolders::remove_lanes() {
  ready_.clear();
  remove_empty(job_ + "/lanes");
}

}  // namespace runnel::runner
