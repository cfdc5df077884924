#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/gpu_sampler.h"
#include "agent/patient_reads.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/worker.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/log.h"
#include "model/metrics.h"
#include "model/usage.h"

namespace runnel::agent {

// Reads what jobs have written, reported and use here, for those who ask.
//
// Threads:  the loop's only; files are read on threads of their own, GPUs asked on the worker
//           "agent-gpus".
// Lifetime: start() .. stop(), which is awaited before destruction; reads end before that.
class OutputReader {
 public:
  // `device_command`: see GpuSampler.
  OutputReader(async::EventLoop& loop, env::Clock& clock, std::string home,
               std::vector<std::string> device_command);
  Result<void> start();
  Async<void> stop();

  Async<model::LogPage> log(model::LogFilter filter, std::string cursor);
  Async<model::MetricPage> metrics(model::MetricFilter filter);
  // The usage of the job's attempts, watched for `window`.
  Async<std::vector<model::TaskUsage>> usage(JobId job, Duration window, async::StopToken stop);

 private:
  async::EventLoop& loop_;
  env::Clock& clock_;
  const std::string home_;
  PatientReads log_reads_;
  PatientReads series_reads_;
  GpuSampler gpu_sampler_;  // The worker's.
  std::unique_ptr<async::Worker> gpus_;
};

}  // namespace runnel::agent
