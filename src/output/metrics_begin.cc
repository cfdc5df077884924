#include "output/metrics_begin.h"

#include "env/files.h"
#include "json/value.h"
#include "model/fields.h"
#include "output/event_folder.h"
#include "output/log_index.h"
#include "output/paths.h"

namespace runnel::model {

template <>
struct Fields<output::MetricsBegin::EventFile> {
  static void visit(auto& visit, auto& file) {
    visit("name", file.name);
    visit("size", file.size);
  }
};

template <>
struct Fields<output::MetricsBegin> {
  static void visit(auto& visit, auto& begin) {
    visit("attempt", begin.attempt);
    visit("events", begin.events);
    visit("file", begin.file);
    visit("file_tail", begin.file_tail);
  }
};

}  // namespace runnel::model

namespace runnel::output {
namespace {

// One per task: what an earlier attempt began with is of no use any more.
std::string begin_path(const std::string& home, const model::TaskRef& task) {
  return job_folder(home, task.job) + "/metrics/" + std::to_string(task.step.value()) + "." +
         std::to_string(task.index.value()) + ".begin";
}

Result<MetricsBegin> read_begin(const std::string& path) {
  const std::string text = TRY(env::read_file(path));
  return model::parse_record<MetricsBegin>(text);
}

}  // namespace

MetricsBegin look_at_metrics(const std::string& home, const model::AttemptRef& attempt,
                             const MetricPlanPtr& plan) {
  const std::string folder = task_folder(home, attempt.task);
  MetricsBegin begin{.attempt = attempt.attempt.value()};
  const MetricsFile::Mark mark = MetricsFile::end_of(metrics_path(folder));
  begin.file = mark.offset;
  begin.file_tail.assign(mark.tail.begin(), mark.tail.end());
  if (plan && !plan->sources.tensorboard.empty()) {
    for (auto& [name, size] : EventFolder(folder + "/" + plan->sources.tensorboard).sizes()) {
      if (json::is_utf8(name)) begin.events.push_back({name, size});
    }
  }
  return begin;
}

Result<void> keep_metrics_begin(const std::string& home, const model::TaskRef& task,
                                const MetricsBegin& begin) {
  TRY(env::make_directories(job_folder(home, task.job) + "/metrics"));
  env::remove_left_temporaries(begin_path(home, task));  // Of an agent that was killed in here.
  return env::write_file_atomically(begin_path(home, task), model::record_text(begin));
}

MetricsFile::Mark file_mark(const MetricsBegin& begin) {
  return {begin.file, std::string(begin.file_tail.begin(), begin.file_tail.end())};
}

MetricsBegin metrics_begin_of(const std::string& home, const model::AttemptRef& attempt) {
  const std::string path = begin_path(home, attempt.task);
  if (attempt.attempt.value() <= 1 || !env::exists(path)) return {};
  Result<MetricsBegin> begin = read_begin(path);
  return begin.ok() && begin->attempt == attempt.attempt.value() ? *std::move(begin)
                                                                 : MetricsBegin();
}

}  // namespace runnel::output
