#pragma once

#include <string>

#include "base/units.h"

namespace runnel::runner {

// RUNNEL_PREEMPT_FILE of a task: absent until the node of its attempt is about to be taken away,
// then it says when, in RFC 3339. For programs that would rather look than be interrupted.
std::string preempt_path(const std::string& task_folder);

// Before the attempt hears SIGTERM. Without room on the disk there is no file, and the signal
// alone tells.
void write_preempt_file(const std::string& task_folder, Time ends_at);
// The next attempt runs elsewhere, or later, and must not find it.
void remove_preempt_file(const std::string& task_folder);

}  // namespace runnel::runner
