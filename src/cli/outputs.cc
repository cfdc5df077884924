#include "cli/outputs.h"

#include <algorithm>
#include <vector>

#include "cli/job_end.h"
#include "env/files.h"
#include "output/metrics_file.h"
#include "runner/preempt_file.h"

namespace runnel::cli {
namespace {

constexpr std::size_t kFoldersMax = 64;  // Task folders, and entries of each, that are looked at.

bool is_empty_folder(const std::string& path) {
  if (!is_there_soon(path)) return false;
  const auto entries = env::list_directory(path);
  return entries.ok() && entries->empty();
}

bool is_output(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  if (path == output::metrics_path(folder) || path == runner::preempt_path(folder)) return false;
  return !is_empty_folder(path);
}

bool holds_outputs(const std::string& folder) {
  const auto names = env::list_directory(folder);
  if (!names.ok()) return false;
  if (names->size() > kFoldersMax) return true;
  return std::any_of(names->begin(), names->end(),
                     [&folder](const std::string& name) { return is_output(folder, name); });
}

}  // namespace

bool has_outputs(const home::Home& home, const std::string& job) {
  if (!is_there_soon(home.job_folder(job))) return false;
  if (!shared_outputs(home, job).empty()) return true;
  const std::string tasks = home.tasks_folder(job);
  const auto folders = env::list_directory(tasks);
  if (!folders.ok()) return false;
  if (folders->size() > kFoldersMax) return true;
  return std::any_of(folders->begin(), folders->end(), [&tasks](const std::string& folder) {
    return holds_outputs(tasks + "/" + folder);
  });
}

}  // namespace runnel::cli
