#include <utility>

#include "control/api.h"
#include "control/find_step.h"
#include "control/task_walk.h"
#include "json/value.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

void write_sample(json::Writer& out, const model::MetricSample& sample) {
  out.begin_object().field("step", sample.step).key("values").begin_object();
  for (const auto& [name, value] : sample.values) {
    json::is_number(value) ? out.key(name).raw(value) : out.field(name, value);
  }
  out.end_object().end_object();
}

std::string step_name(const std::vector<std::string>& names, StepIndex step) {
  const auto index = static_cast<std::size_t>(step.value());
  return index < names.size() ? names[index] : std::to_string(step.value());
}

std::string metrics_document(const model::MetricPage& page, const std::vector<std::string>& names) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  if (page.next)
    out.field("next_page_token", TaskPlace{page.next->first, page.next->second}.token());
  out.key("series").begin_list();
  for (const model::MetricSeries& series : page.series) {
    out.begin_object();
    out.field("bad_lines", series.bad_lines);
    out.key("samples").begin_list();
    for (const model::MetricSample& sample : series.samples) write_sample(out, sample);
    out.end_list();
    out.field("step", step_name(names, series.step));
    out.field("task", series.task.value());
    out.end_object();
  }
  out.end_list().end_object();
  return text;
}

}  // namespace

Result<model::MetricFilter> Api::metric_query(const http::Request& request,
                                              const JobId& job) const {
  TRY(known_only(request, {"step", "task", "limit", "page_token"}));
  model::MetricFilter filter;
  filter.job = job;
  filter.series_max = static_cast<std::size_t>(TRY(limit_of(request)));
  const std::string token = text_of(request, "page_token");
  if (!token.empty()) {
    const TaskPlace from = TRY(TaskPlace::parse(token));
    filter.from = {from.step, from.index};
  }
  if (!text_of(request, "task").empty()) {
    filter.task = TaskIndex(TRY(whole_of(request, "task", 0, model::kTasksPerStepMax)));
  }
  const std::string step = text_of(request, "step");
  if (step.empty()) return filter;
  const auto live = controller_.state().jobs.find(job);
  filter.step = live != controller_.state().jobs.end() ? TRY(find_step(*live->second.spec, step))
                    : StepIndex(static_cast<std::int32_t>(
                          TRY(whole_of(request, "step", 0, model::kStepsMax))));
                    return filter;
}

Async<http::Reply> Api::read_metrics(http::Request request) {
  Result<JobId> found = co_await job_of_path(request);
  const JobId job = CO_TRY(std::move(found));
  const model::MetricFilter filter = CO_TRY(metric_query(request, job));
  Result<model::MetricPage> read = co_await logs_.read_metrics(filter);
  const model::MetricPage page = CO_TRY(std::move(read));
  co_return http::Response::json_text(metrics_document(page, step_names(job)));
}

}  // namespace runnel::control
