#include "output/paths.h"

#include "env/files.h"

namespace runnel::output {

std::string jobs_folder(const std::string& home) { return home + "/jobs"; }

std::string job_folder(const std::string& home, const JobId& job) {
  return jobs_folder(home) + "/" + job.str();
}

std::string logs_folder(const std::string& home, const JobId& job) {
  return job_folder(home, job) + "/logs";
}

std::string task_folder(const std::string& home, const model::TaskRef& task) {
  return job_folder(home, task.job) + "/tasks/" + std::to_string(task.step.value()) + "." +
         std::to_string(task.index.value());
}

Result<std::vector<JobId>> jobs_with_folders(const std::string& home) {
  std::vector<JobId> jobs;
  const std::string folder = jobs_folder(home);
  if (!env::exists(folder)) return jobs;
  for (const std::string& name : TRY(env::list_directory(folder))) {
    const Result<JobId> job = JobId::parse(name);
    if (job.ok() && !name.starts_with('.')) jobs.push_back(*job);
  }
  return jobs;
}

}  // namespace runnel::output
