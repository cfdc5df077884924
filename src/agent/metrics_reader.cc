#include "agent/metrics_reader.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "agent/log_index.h"
#include "agent/metrics_file.h"
#include "agent/runner/folders.h"
#include "env/files.h"

namespace runnel::agent {
namespace {

using TaskKey = std::pair<StepIndex, TaskIndex>;

// "3.17"; nothing for what is no task's folder.
std::optional<TaskKey> place_of(const std::string& name) {
  std::int32_t step = 0;
  std::int64_t task = 0;
  const char* const end = name.data() + name.size();
  const auto [dot, bad_step] = std::from_chars(name.data(), end, step);
  if (bad_step != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [stop, bad_task] = std::from_chars(dot + 1, end, task);
  if (bad_task != std::errc() || stop != end) return std::nullopt;
  return TaskKey(StepIndex(step), TaskIndex(task));
}

Result<std::vector<TaskKey>> tasks_with_folders(const std::string& folder) {
  std::vector<TaskKey> places;
  if (!env::exists(folder)) return places;
  for (const std::string& name : TRY(env::list_directory(folder))) {
    if (const auto place = place_of(name)) places.push_back(*place);
  }
  std::sort(places.begin(), places.end());
  return places;
}

bool wanted(const model::MetricFilter& filter, const TaskKey& place) {
  return place >= filter.from && (!filter.step || *filter.step == place.first) &&
         (!filter.task || *filter.task == place.second);
}

std::vector<model::MetricSample> thinned(std::vector<model::MetricSample> samples) {
  const std::size_t every = (samples.size() + model::kSamplesMax - 1) / model::kSamplesMax;
  if (every <= 1) return samples;
  std::vector<model::MetricSample> kept;
  for (std::size_t i = (samples.size() - 1) % every; i < samples.size(); i += every) {
    kept.push_back(std::move(samples[i]));
  }
  return kept;
}

}  // namespace

Result<model::MetricPage> read_metrics(const std::string& home, const model::MetricFilter& filter) {
  model::MetricPage page;
  for (const TaskKey& place : TRY(tasks_with_folders(job_folder(home, filter.job) + "/tasks"))) {
    if (!wanted(filter, place)) continue;
    if (page.series.size() == filter.series_max) {
      page.next = place;
      break;
    }
    const model::TaskRef task{filter.job, place.first, place.second};
    MetricsFile file(metrics_path(task_folder(home, task)));
    std::vector<model::MetricSample> samples = thinned(file.read_to_end());
    if (samples.empty() && file.bad_lines() == 0) continue;
    page.series.push_back({place.first, place.second, std::move(samples), file.bad_lines()});
  }
  return page;
}

}  // namespace runnel::agent
