#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "model/refs.h"
#include "runner/message.h"

namespace runnel::runner {

// What an attempt is told about its folder.
struct TaskFolder {
  std::string path;        // RUNNEL_TASK_DIR
  std::string checkpoint;  // RUNNEL_CHECKPOINT_DIR, exists and lies inside.
  bool resume = false;     // An earlier attempt left something in `checkpoint`.
  bool of_lane = false;    // Was the lane's ready folder, and is again when nothing was left in it.
};

// The folders that attempts of one job get: RUNNEL_TASK_DIR, kept over the attempts of a task.
//
// Contract: take() before the start, give_back() when nothing of the attempt lives. A task's folder
//           is tasks/<step>.<index> from its first attempt on, so that a path that a task has
//           written down stays true; one that came back as it was is gone afterwards. kInvalid when
//           something else stands where it, or its folder for checkpoints, should be.
// Threads:  the runner's only.
// Why:      making and removing a folder costs ten times as much as renaming one, and most tasks
//           leave theirs empty: between tasks it waits as lanes/<slot>.
class TaskFolders {
 public:
  TaskFolders(const std::string& home, const JobId& job);

  Result<TaskFolder> take(std::uint32_t slot, const model::AttemptRef& attempt, TaskFolderKind kind,
                          const std::string& checkpoint_dir);
  void give_back(std::uint32_t slot, const TaskFolder& folder);
  // Removes the folders that a runner which died has not used.
  void settle(std::uint32_t slot, const model::AttemptRef& attempt);
  // The job rests: empty lane folders go.
  void remove_lanes();

 private:
  std::string lasting_path(const model::AttemptRef& attempt) const;
  std::string lane_path(std::uint32_t slot) const;
  Result<TaskFolder> take_lasting(const model::AttemptRef& attempt,
                                  const std::string& checkpoint_dir);
  // Sees to it that the lane's folder waits, with one for checkpoints in it.
  Result<void> make_ready(std::uint32_t slot, const std::string& checkpoint_dir);
  bool move_folder(const std::string& from, const std::string& to) const;

  std::string home_;
  std::string job_;  // The job's folder.
  // Lanes' folders that came back untouched, with their folders for checkpoints.
  std::map<std::uint32_t, std::string> ready_;
};

}  // namespace runnel::runner
