#include "agent/output_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/usage_reader.h"
#include "output/log_reader.h"
#include "output/metrics_reader.h"
#include "output/paths.h"

namespace runnel::agent {

OutputReader::OutputReader(async::EventLoop& loop, env::Clock& clock, std::string home,
                           std::vector<std::string> device_command)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      log_reads_(loop, clock, "agent-logs"),
      series_reads_(loop, clock, "agent-series"),
      gpu_sampler_(std::move(device_command)) {}

Result<void> OutputReader::start() {
  gpus_ = TRY(async::Worker::create(loop_, {.name = "agent-gpus"}));
  return {};
}

Async<void> OutputReader::stop() {
  if (gpus_) (void)co_await gpus_->stop();
  gpus_.reset();
  co_return {};
}

Async<model::LogPage> OutputReader::log(model::LogFilter filter, std::string cursor) {
  const std::string folder = output::job_folder(home_, filter.job);
  return log_reads_.run<model::LogPage>(
      folder, [home = home_, filter, cursor = std::move(cursor), now = clock_.wall()] {
        return output::LogReader(home).read(filter, cursor, now);
      });
}

Async<model::MetricPage> OutputReader::metrics(model::MetricFilter filter) {
  const std::string folder = output::job_folder(home_, filter.job);
  return series_reads_.run<model::MetricPage>(folder, [home = home_, filter = std::move(filter)] {
    return output::read_metrics(home, filter);
  });
}

Async<std::vector<model::TaskUsage>> OutputReader::usage(JobId job, Duration window,
                                                         async::StopToken stop) {
  // A process that waits for a dead mount may keep others from reading of it.
  const std::string folder = "/proc";
  const auto sample = [job]() -> Result<UsageSample> { return sample_usage(job); };
  const UsageSample before =
      CO_TRY(co_await log_reads_.run<UsageSample>(folder, sample, Reach::kFolder));
  const Duration begun = clock_.boot();
  const std::optional<GpuSample> gpus =
      CO_TRY(co_await gpus_->run([this] { return gpu_sampler_.sample(clock_.boot()); }));
  const Duration left = std::max(window - (clock_.boot() - begun), Duration());
  CO_TRY(co_await loop_.sleep(left, std::move(stop)));
  const UsageSample after =
      CO_TRY(co_await log_reads_.run<UsageSample>(folder, sample, Reach::kFolder));
  co_return usage_between(before, after, std::max(window, clock_.boot() - begun), gpus);
}

}  // namespace runnel::agent
