#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace runnel::agent {

// Files of deleted jobs. All of this blocks, and waits for no mount below a job's folder.

// A folder on the disk that holds the files of jobs: <home>/NAME, or jobs/.NAME where `jobs` is a
// link or a mount that leads to another disk, to which nothing can be renamed.
std::string beside_jobs(const std::string& home, const std::string& name);

// Takes the job's folder out of sight, and then away; at once where the disk has no room for that.
// Fine when there is none. kConflict, with the
// remedy, while something is mounted in it: that is somebody's.
Result<void> remove_job_files(const std::string& home, const JobId& job);

// Jobs that have files here, also what an earlier process did not remove to its end.
Result<std::vector<JobId>> jobs_with_files(const std::string& home);

}  // namespace runnel::agent
