#pragma once

#include <memory>
#include <optional>
#include <string>

#include "async/async.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "control/job_document.h"
#include "control/log_source.h"
#include "control/progress_document.h"
#include "model/spec.h"

namespace runnel::control {

// The jobs that routes speak of, recent or archived.
//
// Threads:  the loop's only.
// Lifetime: controller and logs outlive it.
class KnownJobs {
 public:
  KnownJobs(Controller& controller, LogSource& logs) : controller_(controller), logs_(logs) {}

  // The whole id of the path's job, which is one of the asker's project.
  Async<JobId> of_path(const Ask& ask);
  // A job that an earlier build archived has its document as it was then. With progress
  // where live tasks' metrics are given, though they be none.
  Async<std::string> document(JobId job, JobView view,
                              std::optional<LiveMetrics> metrics = std::nullopt);
  // One that ends meanwhile is told as ended.
  Async<LiveMetrics> live_metrics(JobId job);
  // Whether the log says so, not only the state.
  Async<bool> is_over(JobId job);

  struct Facts {
    std::shared_ptr<const model::JobSpec> spec;  // Null: an earlier build archived the job.
    bool ran = false;                            // A task of it has begun here, and ended.
  };
  Async<Facts> facts(JobId job);

 private:
  Async<ProjectId> project_of(JobId job);

  Controller& controller_;
  LogSource& logs_;
};

// The step that a parameter names, if it names one; without a specification by its position.
Result<std::optional<StepIndex>> step_of(const model::JobSpec* spec, const std::string& text);

}  // namespace runnel::control
