#include "runner/preempt_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace runnel::runner {

std::string preempt_path(const std::string& task_folder) { return task_folder + "/preempt"; }

void write_preempt_file(const std::string& task_folder, Time ends_at) {
  // Whole when it is seen: whoever waits for it reads it at once.
  const std::string path = preempt_path(task_folder);
  const std::string unfinished = path + ".new";
  // A pipe or a link that the task put there is replaced, not opened.
  ::unlink(unfinished.c_str());
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;
  const std::string text = rfc3339(ends_at) + "\n";
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  if (!whole || ::rename(unfinished.c_str(), path.c_str()) != 0) ::unlink(unfinished.c_str());
}

void remove_preempt_file(const std::string& task_folder) {
  ::unlink(preempt_path(task_folder).c_str());
}

}  // namespace runnel::runner
