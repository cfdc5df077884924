#include "output/metrics_reader.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "env/files.h"
#include "output/event_folder.h"
#include "output/index_file.h"
#include "output/log_index.h"
#include "output/metric_plan.h"
#include "output/metrics_file.h"
#include "output/output_metrics.h"
#include "output/paths.h"
#include "output/sample_keeper.h"

namespace runnel::output {
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

bool is_wanted(const model::MetricFilter& filter, const TaskKey& place) {
  return place >= filter.from && (!filter.step || *filter.step == place.first) &&
         (!filter.task || *filter.task == place.second);
}

Result<std::set<TaskKey>> tasks_with_folders(const std::string& folder,
                                             const model::MetricFilter& filter) {
  std::set<TaskKey> places;
  if (!TRY(env::is_there(folder))) return places;
  for (const std::string& name : TRY(env::list_directory(folder))) {
    const auto place = place_of(name);
    if (place && is_wanted(filter, *place)) places.insert(*place);
  }
  return places;
}

using Plans = std::map<StepIndex, MetricPlanPtr>;

// The plans of the steps that are wanted.
Result<Plans> plans_of(const std::string& home, const model::MetricFilter& filter) {
  Plans plans;
  for (const StepIndex step : TRY(steps_with_plans(home, filter.job))) {
    if (step < filter.from.first || (filter.step && *filter.step != step)) continue;
    if (MetricPlanPtr plan = load_metric_plan(home, filter.job, step)) plans[step] = plan;
  }
  return plans;
}

// The index's records of rank 0, for each attempt of a task.
using Outputs = std::map<AttemptNumber, std::vector<IndexRecord>>;

bool is_printed(const Plans& plans, StepIndex step) {
  const auto plan = plans.find(step);
  return plan != plans.end() && !plan->second->patterns->empty();
}

struct Printed {
  std::map<TaskKey, Outputs> tasks;
  bool more = false;  // Behind the last of them.
};

// The output of the first tasks that are wanted, as many as a page has: a job may have a million.
Printed printed_by(const std::string& logs, const Plans& plans, const model::MetricFilter& filter) {
  Printed printed;
  const bool any = std::any_of(plans.begin(), plans.end(),
                               [&](const auto& plan) { return is_printed(plans, plan.first); });
  if (!any) return printed;
  IndexFile index(logs);
  for (std::int64_t i = 0; i < index.records(); ++i) {
    const std::optional<IndexRecord> record = index.at(i);
    if (!record || record->rank != 0 || !is_printed(plans, StepIndex(record->step))) continue;
    const TaskKey place(StepIndex(record->step), TaskIndex(record->task));
    const bool begins = record->kind == IndexRecord::Kind::kStart;
    if (!is_wanted(filter, place) || (!begins && !printed.tasks.contains(place))) continue;
    printed.tasks[place][AttemptNumber(record->attempt)].push_back(*record);
    if (printed.tasks.size() <= filter.series_max) continue;
    printed.tasks.erase(std::prev(printed.tasks.end()));
    printed.more = true;
  }
  return printed;
}

// The tasks that this page is about, and in `next` where the following one begins.
Result<std::set<TaskKey>> tasks_of_page(const std::string& home, const Printed& printed,
                                        const model::MetricFilter& filter,
                                        std::optional<TaskKey>& next) {
  const std::string folder = job_folder(home, filter.job) + "/tasks";
  std::set<TaskKey> places = TRY(tasks_with_folders(folder, filter));
  for (const auto& [place, outputs] : printed.tasks) places.insert(place);
  if (!printed.more) return places;
  CHECK(!printed.tasks.empty(), "tasks follow none");
  const TaskKey& last = printed.tasks.rbegin()->first;
  places.erase(places.upper_bound(last), places.end());
  next = TaskKey(last.first, TaskIndex(last.second.value() + 1));
  return places;
}

// In the order in which sources of one step are told.
enum Source : std::size_t { kFile, kOutput, kEvents };

// Reads all sources of one task.
class SeriesReader {
 public:
  SeriesReader(const std::string& home, model::TaskRef task)
      : home_(home), task_(task), folder_(task_folder(home, task_)) {}

  void read_file(std::int64_t bytes_max) {
    MetricsFile file(metrics_path(folder_));
    const auto take = [this](std::vector<model::MetricSample> samples) {
      keeper_.take(kFile, std::move(samples));
    };
    series_.truncated = file.unread() > bytes_max;
    bytes_ += static_cast<std::size_t>(file.read_evenly_to_end(bytes_max, take));
    series_.bad_lines = file.bad_lines();
    const Result<env::FileInfo> info = env::file_info(metrics_path(folder_));
    if (info.ok()) series_.reported_at = info->modified;
  }

  void read_events(const MetricPlan& plan) {
    if (plan.sources.tensorboard.empty()) return;
    EventFolder events(folder_ + "/" + plan.sources.tensorboard);
    std::vector<model::MetricSample> samples;
    std::size_t bytes = 0;
    while (const std::size_t more = events.read(samples)) {
      bytes += more;
      keeper_.take(kEvents, std::exchange(samples, {}));
      if (bytes < kMetricBytesMax) continue;
      series_.truncated = true;
      break;
    }
    bytes_ += bytes;
    series_.bad_records = events.bad_records();
  }

  // All of them, or the first kMetricBytesMax and the end of the last attempt's.
  void read_outputs(const MetricPlan& plan, const Outputs& attempts) {
    std::size_t left = kMetricBytesMax;
    for (const auto& [attempt, records] : attempts) {
      const bool is_last = attempt == attempts.rbegin()->first;
      if (left == 0) series_.truncated = true;
      if (left > 0 || is_last) left -= std::min(left, read_output(plan, records, left));
    }
  }

  // How many it has looked at.
  std::size_t bytes() const { return bytes_; }

  model::MetricSeries finish() && {
    series_.step = task_.step;
    series_.task = task_.index;
    series_.samples = std::move(keeper_).finish();
    return std::move(series_);
  }

 private:
  std::size_t read_output(const MetricPlan& plan, const std::vector<IndexRecord>& records,
                          std::size_t most) {
    OutputMetrics output(logs_folder(home_, task_.job), task_.job, plan.patterns);
    for (const IndexRecord& record : records) output.take(record);
    std::vector<model::MetricSample> samples;
    std::size_t bytes = 0;
    bool skipped = false;
    for (;;) {
      if (bytes >= most && !std::exchange(skipped, true)) {
        series_.truncated = output.skip_to_last() || series_.truncated;
      }
      const std::size_t more = output.read(samples);
      if (more == 0) break;
      bytes += more;
      keeper_.take(kOutput, std::exchange(samples, {}));
    }
    bytes_ += bytes;
    output.end(samples);
    keeper_.take(kOutput, std::move(samples));
    return bytes;
  }

  const std::string& home_;
  model::TaskRef task_;
  std::string folder_;
  SampleKeeper keeper_;
  std::size_t bytes_ = 0;
  model::MetricSeries series_;
};

std::size_t bytes_of_series(const model::MetricSeries& series) {
  std::size_t bytes = sizeof series;
  for (const model::MetricSample& sample : series.samples) bytes += output::bytes_of(sample);
  return bytes;
}

}  // namespace

Result<model::MetricPage> read_metrics(const std::string& home, const model::MetricFilter& filter) {
  model::MetricPage page;
  const Plans plans = TRY(plans_of(home, filter));
  const Printed printed = printed_by(logs_folder(home, filter.job), plans, filter);
  std::size_t bytes = 0;
  std::size_t held = 0;
  for (const TaskKey& place : TRY(tasks_of_page(home, printed, filter, page.next))) {
    if (page.series.size() == filter.series_max || bytes > kMetricBytesMax ||
        held > kMetricPageBytesMax) {
      page.next = place;
      break;
    }
    SeriesReader reader(home, {filter.job, place.first, place.second});
    reader.read_file(filter.bytes_max);
    if (const auto plan = plans.find(place.first); plan != plans.end()) {
      reader.read_events(*plan->second);
      const auto outputs = printed.tasks.find(place);
      if (outputs != printed.tasks.end()) reader.read_outputs(*plan->second, outputs->second);
    }
    bytes += reader.bytes();
    model::MetricSeries series = std::move(reader).finish();
    const bool silent = series.samples.empty() && series.bad_lines + series.bad_records == 0;
    held += bytes_of_series(series);
    if (!silent) page.series.push_back(std::move(series));
  }
  return page;
}

}  // namespace runnel::output
