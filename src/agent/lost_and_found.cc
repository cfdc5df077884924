#include "agent/lost_and_found.h"

#include <algorithm>
#include <vector>

#include "agent/removed_jobs.h"
#include "env/files.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

constexpr int kSameNameMax = 1'000;
constexpr std::size_t kNamesShownMax = 10;

Result<std::string> free_name(const std::string& wanted) {
  for (int i = 1; i <= kSameNameMax; ++i) {
    std::string path = i == 1 ? wanted : wanted + "-" + std::to_string(i);
    if (!env::exists(path)) return path;
  }
  return Error(Errc::kFull,
               "there are " + std::to_string(kSameNameMax) + " folders like " + wanted);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), kNamesShownMax);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

}  // namespace

std::string lost_and_found(const std::string& home) { return beside_jobs(home, "lost+found"); }

Result<std::string> set_aside(const std::string& home, const JobId& job) {
  const std::string folder = output::job_folder(home, job);
  if (!env::exists(folder)) return std::string();
  TRY(env::make_directories(lost_and_found(home), env::Access::kOwner));
  std::string path = TRY(free_name(lost_and_found(home) + "/" + job.str()));
  TRY(env::rename_file(folder, path));
  return path;
}

std::string lost_and_found_notice(const std::string& home) {
  const std::string folder = lost_and_found(home);
  const std::vector<std::string> names =
      env::list_directory(folder).value_or(std::vector<std::string>());
  if (names.empty()) return {};
  const bool one = names.size() == 1;
  return folder + " holds the files of " + std::to_string(names.size()) + (one ? " job" : " jobs") +
         " that the event log does not know (" + listed(names) +
         "): the log was repaired, or replaced by an older or another one, and does not tell that "
         "they were deleted. Take what you need from there and remove the rest. If the log that "
         "knows a job comes back, move the job's folder back to " +
         output::jobs_folder(home) + "/.";
}

}  // namespace runnel::agent
