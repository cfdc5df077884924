#include "control/api/metric_routes.h"

#include <utility>

#include "brain/places.h"
#include "control/device_document.h"
#include "control/find_step.h"
#include "control/task_walk.h"
#include "json/value.h"
#include "json/writer.h"
#include "search/decimal.h"

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
    out.field("bad_records", series.bad_records);
    out.key("samples").begin_list();
    for (const model::MetricSample& sample : series.samples) write_sample(out, sample);
    out.end_list();
    out.field("step", step_name(names, series.step));
    out.field("task", series.task.value());
    out.field("truncated", series.truncated);
    out.end_object();
  }
  out.end_list().end_object();
  return text;
}

// Thousandths as a decimal: 1250 is 1.25.
std::string cores(std::int64_t milli_cpus) {
  return search::shortest(static_cast<double>(milli_cpus) / 1'000);
}

const model::TaskUsage* find_usage(const std::vector<model::TaskUsage>& uses,
                                   const std::string& step, TaskIndex task,
                                   const brain::LiveAttempt& live) {
  for (const model::TaskUsage& use : uses) {
    if (use.step == step && use.task == task && use.attempt == live.number) return &use;
  }
  return nullptr;
}

void write_usage(json::Writer& out, const brain::Lane& lane, const std::string& step,
                 TaskIndex task, const brain::LiveAttempt& live, const model::TaskUsage* use) {
  out.begin_object().field("attempt", live.number.value());
  out.key("cpus").raw(use == nullptr ? "null" : cores(use->milli_cpus));
  write_devices(out, lane.places());
  const bool has_gpus = use != nullptr && use->milli_gpus && use->gpu_memory;
  out.key("gpu").raw(has_gpus ? cores(*use->milli_gpus) : "null");
  out.key("gpu_memory").raw(has_gpus ? std::to_string(use->gpu_memory->count()) : "null");
  out.key("memory").raw(use == nullptr ? "null" : std::to_string(use->memory.count()));
  out.key("nodes").begin_list();
  for (const NodeId& node : brain::nodes_of(lane.places())) out.text(node.str());
  out.end_list();
  out.field("processes", use == nullptr ? 0 : use->processes);
  out.field("status", model::to_string(live.status)).field("step", step);
  out.field("task", task.value()).end_object();
}

// A row for each live task, in the order of steps and tasks.
std::string usage_document(const brain::State& state, const brain::Job& job,
                           const std::vector<model::TaskUsage>& uses) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("tasks").begin_list();
  for (std::size_t at = 0; at < job.steps.size(); ++at) {
    const std::string& step = job.spec->steps[at].name;
    for (const auto& [task, kept] : job.steps[at].tasks) {
      if (!kept.live) continue;
      write_usage(out, state.lanes.at(kept.live->lane), step, task, *kept.live,
                  find_usage(uses, step, task, *kept.live));
    }
  }
  out.end_list().end_object();
  return text;
}

}  // namespace

std::vector<Route> MetricRoutes::table() {
  return {
      route({.path = "/jobs/{id}/metrics",
             .summary = "What a job's tasks reported",
             .answer = "MetricPage"},
            *this, &MetricRoutes::metrics),
      route({.path = "/jobs/{id}/usage",
             .summary = "What a job's running tasks use",
             .answer = "Usage"},
            *this, &MetricRoutes::usage),
  };
}

Async<http::Reply> MetricRoutes::metrics(Ask ask, MetricsQuery wanted) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  const std::shared_ptr<const model::JobSpec> spec = CO_TRY(co_await jobs_.facts(job)).spec;
  model::MetricFilter filter;
  filter.job = job;
  filter.series_max = static_cast<std::size_t>(wanted.limit);
  filter.from = {wanted.from.step, wanted.from.index};
  filter.step = CO_TRY(step_of(spec.get(), wanted.step));
  filter.task = wanted.task;
  const model::MetricPage page =
      CO_TRY(co_await logs_.read_metrics(brain::nodes_of(controller_.state(), job), filter));
  co_return http::Response::json_text(metrics_document(page, names_in(spec.get())));
}

Async<http::Reply> MetricRoutes::usage(Ask ask, NoQuery) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  const std::vector<model::TaskUsage> uses =
      CO_TRY(co_await logs_.read_usage(brain::nodes_of(controller_.state(), job), job));
  co_return http::Response::json_text(
      CO_TRY(co_await controller_.answer<std::string>([job, uses](const LogWriter& writer) {
        const auto live = writer.state().jobs.find(job);
        if (live == writer.state().jobs.end()) return Result<std::string>("{\"tasks\":[]}");
        return Result<std::string>(usage_document(writer.state(), live->second, uses));
      })));
}

}  // namespace runnel::control
