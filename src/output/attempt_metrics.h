#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/metrics.h"
#include "model/refs.h"
#include "output/event_folder.h"
#include "output/metric_plan.h"
#include "output/metrics_file.h"
#include "output/output_metrics.h"

namespace runnel::output {

// The latest of every metric, over several sources.
class LatestMetrics {
 public:
  static constexpr std::size_t kNamesMax = MetricsFile::kNamesMax;

  void take(const std::vector<model::MetricSample>& samples);
  // All of them, at the step of the objectives' latest, or of all when not every objective was
  // seen; nothing when there was none at all.
  std::optional<model::MetricSample> sample(const std::vector<std::string>& objectives) const;

 private:
  struct Value {
    std::int64_t step = 0;
    std::string text;
  };
  std::map<std::string, Value> values_;
};

// The reports of one trial on its way: its file, and what its step's plan adds.
//
// Contract: what earlier attempts of the task wrote is not this one's (metrics_begin.h). look()
//           yields what is new; with a plan only samples that hold an objective, since a search
//           compares by no other, and until there was one also those with a name that is new, since
//           an objective may be misspelt. finish() yields the rest when the attempt has ended, of
//           many some that are evenly spaced, and of a file that is far behind only its end; then
//           latest() has all that it said last. Event files are looked at every kEventsEvery looks.
// Threads:  blocking; one at a time.
class AttemptMetrics {
 public:
  static constexpr int kEventsEvery = 10;

  // `from`: the index's record from which on the attempt's output can be found.
  AttemptMetrics(const std::string& home, const model::AttemptRef& attempt, MetricPlanPtr plan,
                 std::int64_t from);

  std::vector<model::MetricSample> look();
  std::vector<model::MetricSample> finish();
  std::optional<model::MetricSample> latest() const;
  // Counted in its file, as far as it was read.
  std::int64_t bad_lines() const { return file_.bad_lines(); }

 private:
  void begin();
  std::vector<model::MetricSample> chosen(std::vector<model::MetricSample> samples);
  bool is_worth_telling(const model::MetricSample& sample);

  std::string home_;
  model::AttemptRef attempt_;
  bool begun_ = false;
  MetricPlanPtr plan_;  // Null: only the file.
  MetricsFile file_;
  std::optional<FollowedOutput> output_;
  std::optional<EventFolder> events_;
  LatestMetrics latest_;
  bool has_objective_ = false;    // Reported at least once.
  std::set<std::string> others_;  // Names that were told before that.
  int looks_ = 0;
};

}  // namespace runnel::output
