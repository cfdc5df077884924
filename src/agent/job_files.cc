#include "agent/job_files.h"

#include <utility>

#include "agent/lost_and_found.h"
#include "agent/removed_jobs.h"
#include "base/check.h"
#include "output/paths.h"

namespace runnel::agent {

JobFiles::JobFiles(async::EventLoop& loop, std::string home, Wiring wiring)
    : loop_(loop), home_(std::move(home)), wiring_(std::move(wiring)) {}

Result<void> JobFiles::start() {
  removals_ = TRY(async::Worker::create(loop_, {.name = "agent-removals"}));
  return {};
}

Async<void> JobFiles::stop() {
  if (removals_) (void)co_await removals_->stop();
  removals_.reset();
  co_return {};
}

Async<void> JobFiles::remove(JobId job) {
  CHECK(removals_, "files are removed before start() or after stop()");
  wiring_.close(job);
  Result<void> removed =
      co_await removals_->run([&home = home_, job] { return remove_job_files(home, job); });
  unremoved_.erase(job);
  if (removed.ok()) co_return {};
  std::string notice = "files of the deleted job " + job.str() + " are still in " +
                       output::job_folder(home_, job) +
                       "; the daemon tries again when it starts: " + removed.error().to_string();
  wiring_.on_notice(notice);
  unremoved_.emplace(job, std::move(notice));
  co_return {};
}

Async<void> JobFiles::sweep(async::StopToken stop) {
  CHECK(removals_, "files are swept before start() or after stop()");
  std::vector<JobId> here =
      CO_TRY(co_await removals_->run([home = home_] { return jobs_with_files(home); }));
  Leftovers leftovers = CO_TRY(co_await wiring_.leftovers(std::move(here)));
  for (const JobId& job : leftovers.deleted) {
    CO_TRY(stop.check());
    if (!wiring_.in_use(job)) (void)co_await remove(job);
  }
  co_return co_await set_aside_unknown(std::move(leftovers.unknown), std::move(stop));
}

// Nothing tells that these may be removed: what a log has lost, its user still has.
Async<void> JobFiles::set_aside_unknown(std::vector<JobId> jobs, async::StopToken stop) {
  for (const JobId& job : jobs) {
    CO_TRY(stop.check());
    if (!wiring_.in_use(job)) (void)co_await set_aside_one(job);
  }
  set_aside_notice_ = CO_TRY(co_await removals_->run(
      [home = home_]() -> Result<std::string> { return lost_and_found_notice(home); }));
  co_return {};
}

Async<void> JobFiles::set_aside_one(JobId job) {
  wiring_.close(job);
  Result<std::string> moved =
      co_await removals_->run([home = home_, job] { return set_aside(home, job); });
  if (!moved.ok()) {
    wiring_.on_notice("the files of job " + job.str() +
                      ", which the event log does not know, stay: " + moved.error().to_string());
  } else if (!moved->empty()) {
    wiring_.on_notice("the event log does not know job " + job.str() +
                      ", nor that it was deleted: its files were moved to " + *moved);
  }
  co_return {};
}

std::vector<std::string> JobFiles::notices() const {
  std::vector<std::string> all;
  if (!set_aside_notice_.empty()) all.push_back(set_aside_notice_);
  for (const auto& [job, notice] : unremoved_) {
    if (all.size() < kNoticesMax) all.push_back(notice);
  }
  return all;
}

}  // namespace runnel::agent
