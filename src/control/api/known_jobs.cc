#include "control/api/known_jobs.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "brain/places.h"
#include "control/find_step.h"

namespace runnel::control {
namespace {

// A look at each of many tasks is short, and sees where a task began and how far it is.
constexpr std::int64_t kLiveBytesMax = std::int64_t{1} << 20;

// Whether a runner here has begun a task of it.
// Of one that is over: its tasks may have failed before any of them began.
bool has_run(const brain::Job& job) {
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    if (job.steps[step].recent_millis >= 0 && !job.spec->steps[step].is_external()) return true;
  }
  return false;
}

}  // namespace

Async<JobId> KnownJobs::of_path(const Ask& ask) {
  const JobId job = CO_TRY(co_await controller_.find_job(ask.request.param("id")));
  if (CO_TRY(co_await project_of(job)) == ask.principal.project) co_return job;
  co_return Error(Errc::kNotFound, "there is no job " + job.str() + " in this project")
      .with_field("project")
      .with_value(ask.principal.project.str());
}

Async<ProjectId> KnownJobs::project_of(JobId job) {
  const auto live = controller_.state().jobs.find(job);
  if (live != controller_.state().jobs.end()) co_return live->second.project;
  const store::ArchiveEntry entry = CO_TRY(co_await controller_.writer().read<store::ArchiveEntry>(
      [&job](store::LogReader& log) { return log.archived(job.str()); }));
  co_return project_of_sort_key(entry.sort_key);
}

// A job that an earlier build archived has its document as it was then.
Async<std::string> KnownJobs::document(JobId job, JobView view,
                                       std::optional<LiveMetrics> metrics) {
  const Time now = controller_.writer().now();
  Result<std::string> made = co_await controller_.about<std::string>(
      job, [view, now, metrics = std::move(metrics)](const brain::Job& known, EventSeq version) {
        const std::string progress =
            metrics ? progress_document(known, *metrics, now) : std::string();
        return Result<std::string>(job_document(known, version, view, progress));
      });
  if (made.ok() || made.error().code != Errc::kGone) co_return made;
  FormerJob former = CO_TRY(co_await controller_.former_job(job));
  co_return std::move(former.document);
}

// One that ends meanwhile is told as ended.
Async<LiveMetrics> KnownJobs::live_metrics(JobId job) {
  LiveMetrics metrics;
  const auto known = controller_.state().jobs.find(job);
  if (known == controller_.state().jobs.end()) co_return metrics;
  const std::vector<NodeId> nodes = brain::nodes_of(controller_.state(), job);
  for (const auto& [step, task] : live_tasks(known->second)) {
    model::MetricFilter filter;
    filter.job = job;
    filter.step = step;
    filter.task = task;
    filter.series_max = 1;
    filter.bytes_max = kLiveBytesMax;
    Result<model::MetricPage> read = co_await logs_.read_metrics(nodes, filter);
    if (!read.ok() || read->series.empty()) continue;
    metrics[{step, task}] = std::move(read->series.front());
  }
  co_return metrics;
}

// The state may know of an end that a full disk does not take: that job goes on.
Async<bool> KnownJobs::is_over(JobId job) {
  const auto over = [this, &job] {
    const auto found = controller_.state().jobs.find(job);
    return found == controller_.state().jobs.end() || model::is_end(found->second.status);
  };
  if (!over()) co_return false;
  const bool is_durable = CO_TRY(co_await controller_.writer().settled()) == Settled::kDurable;
  co_return is_durable&& over();
}

Async<KnownJobs::Facts> KnownJobs::facts(JobId job) {
  Result<Facts> read = co_await controller_.about<Facts>(
      job,
      [](const brain::Job& known, EventSeq) { return Result(Facts{known.spec, has_run(known)}); });
  if (!read.ok() && read.error().code == Errc::kGone) co_return Facts();
  co_return read;
}

Result<std::optional<StepIndex>> step_of(const model::JobSpec* spec, const std::string& text) {
  if (text.empty()) return std::optional<StepIndex>();
  if (spec != nullptr) return std::optional(TRY(find_step(*spec, text)));
  constexpr model::Number kPosition = {.max = std::numeric_limits<std::int32_t>::max()};
  Result<std::int64_t> position = detail::parameter_number(text, kPosition);
  if (!position.ok()) return std::move(position).error().with_field("step").with_value(text);
  return std::optional(StepIndex(static_cast<std::int32_t>(*position)));
}

}  // namespace runnel::control
