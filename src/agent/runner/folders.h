#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/runner/message.h"
#include "base/result.h"
#include "model/refs.h"

namespace runnel::agent {

// Makes the folder and all above it that are missing; an existing one is fine.
Result<void> make_folders(const std::string& path);

// What an attempt is told about its folder.
struct TaskFolder {
  std::string path;        // RUNNEL_TASK_DIR
  std::string checkpoint;  // RUNNEL_CHECKPOINT_DIR, exists and lies inside.
  bool resume = false;     // An earlier attempt left something in `checkpoint`.
  bool of_lane = false;    // The lane's ready folder.
};

// The folders that attempts of one job get: RUNNEL_TASK_DIR, kept over the attempts of a task.
//
// Contract: take() before the start, give_back() when nothing of the attempt lives. A lane's folder
//           that came back as it was serves the next attempt; one in which something was left
//           becomes the task's lasting folder, tasks/<step>.<index>. A second attempt finds that
//           one.
// Threads:  the runner's only.
// Why:      making a folder costs as much as a fifth of a process, and most tasks leave it empty.
class TaskFolders {
 public:
  TaskFolders(const std::string& home, const JobId& job);

  Result<TaskFolder> take(std::uint32_t slot, const model::AttemptRef& attempt, TaskFolderKind kind,
                          const std::string& checkpoint_dir);
  void give_back(std::uint32_t slot, const model::AttemptRef& attempt, const TaskFolder& folder);
  // Of a runner that died: keeps what was left, removes what was not used.
  void settle(std::uint32_t slot, const model::AttemptRef& attempt);
  // The job rests: empty lane folders go.
  void remove_lanes();

 private:
  std::string lasting_path(const model::AttemptRef& attempt) const;
  std::string lane_path(std::uint32_t slot) const;
  void keep(const std::string& lane, const model::AttemptRef& attempt);
  Result<TaskFolder> take_lasting(const model::AttemptRef& attempt,
                                  const std::string& checkpoint_dir);
  Result<TaskFolder> take_lane(std::uint32_t slot, const std::string& checkpoint_dir);

  std::string job_;  // The job's folder.
  // Lanes' folders that came back untouched, with their folders for checkpoints.
  std::map<std::uint32_t, std::string> ready_;
};

}  // namespace runnel::agent
