#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/refs.h"

namespace runnel::output {

// The folders where a home has the files of its jobs.
std::string jobs_folder(const std::string& home);
std::string job_folder(const std::string& home, const JobId& job);
std::string logs_folder(const std::string& home, const JobId& job);
// RUNNEL_TASK_DIR of a task, from its first attempt on.
std::string task_folder(const std::string& home, const model::TaskRef& task);

// The jobs that have one: every name in the jobs folder that could be an id.
Result<std::vector<JobId>> jobs_with_folders(const std::string& home);

}  // namespace runnel::output
