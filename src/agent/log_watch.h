#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/log_marker.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::agent {

// Sees output arrive: notes the time and wakes those who follow a job's log.
//
// Contract: watch() before a job's first attempt starts, unwatch() some time after the last ended.
//           The first output after a pause is seen at once, a stream of it every kEvery. Where the
//           kernel has no watches left, the job's files are looked at every kPollEvery instead.
// Threads:  the loop's only.
// Lifetime: run() and run_polling() are spawned once, in a gate that is closed before destruction.
// Limits:   kJobsMax jobs; output of more is not marked, and followers look every kPollEvery.
class LogWatch {
 public:
  static constexpr Duration kEvery = Duration::millis(5);
  static constexpr Duration kPollEvery = Duration::millis(50);
  // Followers look again after this even when nothing is heard: a last line may lack its end.
  static constexpr Duration kQuietMax = Duration::seconds(1);
  static constexpr std::size_t kJobsMax = 1'000;

  LogWatch(async::EventLoop& loop, env::Clock& clock, std::string home);

  void watch(const JobId& job);
  void unwatch(const JobId& job);
  bool watches(const JobId& job) const { return jobs_.contains(job); }
  Async<void> run(async::StopToken stop);
  Async<void> run_polling(async::StopToken stop);
  // Returns when there may be more output of the job, and after kQuietMax at the latest.
  Async<void> changed(JobId job, async::StopToken stop);

 private:
  struct Job {
    explicit Job(std::string logs) : marker(std::move(logs)) {}
    LogMarker marker;
    int descriptor = -1;  // Of the kernel's watch; -1: polled.
    std::set<std::string, std::less<>> dirty;
  };

  void read_events();
  void look_at_dirty();
  void look_at_polled();
  void tell(const JobId& job);

  async::EventLoop& loop_;
  env::Clock& clock_;
  std::string home_;
  async::UniqueFd inotify_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
  std::map<int, JobId> by_descriptor_;
  std::map<JobId, std::shared_ptr<async::Notifier>> followers_;
  std::size_t polled_ = 0;
};

}  // namespace runnel::agent
