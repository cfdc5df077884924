#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "async/worker.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "output/log_marker.h"

namespace runnel::agent {

// Sees output arrive: notes the time and wakes those who follow a job's log.
//
// Contract: watch() before a job's first attempt starts, unwatch() some time after the last ended.
//           The first output after a pause is seen at once, a stream of it every kEvery. Where the
//           kernel has no watches left, the job's files are looked at every kPollEvery instead.
// Threads:  the loop's; files are touched on the worker "agent-marks" alone, which a disk that does
//           not answer may hold up: output is then marked late, and followers look every kQuietMax.
// Lifetime: start() before anything else, stop() before destruction. run() and run_polling() are
//           spawned once, in a gate that is closed before stop().
// Limits:   kJobsMax jobs; output of more is not marked, and followers look every kPollEvery.
class LogWatch {
 public:
  static constexpr Duration kEvery = Duration::millis(5);
  static constexpr Duration kPollEvery = Duration::millis(50);
  // Followers look again after this even when nothing is heard: a last line may lack its end.
  static constexpr Duration kQuietMax = Duration::seconds(1);
  static constexpr std::size_t kJobsMax = 1'000;

  LogWatch(async::EventLoop& loop, env::Clock& clock, std::string home);

  Async<void> start();
  Async<void> stop();
  void watch(const JobId& job);
  void unwatch(const JobId& job);
  bool watches(const JobId& job) const { return jobs_.contains(job); }
  Async<void> run(async::StopToken stop);
  Async<void> run_polling(async::StopToken stop);
  // Returns when there may be more output of the job, and after kQuietMax at the latest.
  Async<void> changed(JobId job, async::StopToken stop);

 private:
  struct Job {
    explicit Job(std::string logs) : marker(std::make_shared<output::LogMarker>(std::move(logs))) {}
    std::shared_ptr<output::LogMarker> marker;  // The worker's.
    int descriptor = -1;                        // The kernel's watch; -1: none.
    bool polled = false;                        // It has none to give.
    std::atomic<bool> over{false};              // Nobody watches it any more.
    std::set<std::string, std::less<>> dirty;
  };
  using JobPtr = std::shared_ptr<Job>;
  enum class Names : std::uint8_t { kGiven, kAll };
  // What the worker is to look at.
  struct Look {
    JobId job;
    std::shared_ptr<output::LogMarker> marker;
    Names which = Names::kGiven;
    std::set<std::string, std::less<>> names;
  };

  Async<void> begin(JobId job, std::string logs, JobPtr entry);
  Async<void> look(std::vector<Look> looks);
  static std::vector<JobId> grown(const std::vector<Look>& looks, Time now);
  void forget_descriptor(const Job& entry);
  void read_events();
  std::vector<Look> dirty();
  std::vector<Look> polled() const;
  void tell(const JobId& job);

  async::EventLoop& loop_;
  env::Clock& clock_;
  // By the folder itself: who moves a living home away and begins another in its place finds
  // nothing of the first in it.
  std::string home_;
  async::UniqueFd folder_;
  async::UniqueFd inotify_;
  std::map<JobId, JobPtr> jobs_;
  std::map<int, JobId> by_descriptor_;
  std::map<JobId, std::shared_ptr<async::Notifier>> followers_;
  std::size_t polled_ = 0;
  std::unique_ptr<async::Worker> worker_;
  async::Gate gate_;
};

}  // namespace runnel::agent
