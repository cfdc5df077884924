#include "agent/runner_silence.h"

#include "agent/suspect_mounts.h"
#include "base/shell_word.h"
#include "env/process.h"
#include "runner/runner.h"

namespace runnel::agent {

std::string sentence(const RunnerSilence& silence) {
  if (!silence.stranger.empty()) {
    return "the process " + std::to_string(silence.pid) + " (" + silence.stranger +
           ") holds a lock on the home's folder, so that no runner has started since " +
           rfc3339(silence.since);
  }
  const std::string who = silence.pid == 0 ? "" : " (process " + std::to_string(silence.pid) + ")";
  return "the runner" + who + " has not answered since " + rfc3339(silence.since);
}

std::string remedy(const RunnerSilence& silence, const std::string& home,
                   const std::vector<std::string>& mounts) {
  const std::string socket = runner::runner_socket(home);
  if (silence.is_folder) {
    return "a folder is where its socket belongs: mv " + shell_word(socket) + " " +
           shell_word(socket + ".away");
  }
  if (silence.pid == 0) return "see " + runner::runner_log_file(home);
  if (!silence.stranger.empty()) return "work goes on by itself when it gives the lock back";
  const std::string pid = std::to_string(silence.pid);
  const env::ProcessState state = env::process_state(silence.pid);
  if (state == env::ProcessState::kStopped) return "it was stopped: kill -CONT " + pid;
  const std::string give_up = "to give up what it runs, which is then tried again: kill -9 " + pid;
  const std::vector<std::string> below = mounts_below(home, mounts);
  if (!below.empty()) {
    return "it may wait for " + names_of(below) + ": see whether its disk answers; " +
           unmount_text(below) + "; " + give_up;
  }
  if (state == env::ProcessState::kWaitsForDisk) {
    return "it waits for a disk: see whether that of " + home + " answers";
  }
  return "it goes on by itself when it can; " + give_up;
}

}  // namespace runnel::agent
