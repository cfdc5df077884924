#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/worker.h"
#include "base/ids.h"
#include "base/result.h"

namespace runnel::agent {

// The jobs whose files are here and that control knows no more.
struct Leftovers {
  std::vector<JobId> deleted;  // By a durable record: their files go.
  std::vector<JobId> unknown;  // Nothing tells why: a log that lost its end, or another home's.
};

// Files of jobs that are no more: deleted ones are removed, however long that takes, those that
// control cannot tell anything about are set aside, where nothing is ever removed.
//
// Threads:  the loop's only; folders are removed and moved on the worker "agent-removals".
// Lifetime: start() .. stop(), which is awaited before destruction; remove() and sweep() run in a
//           gate that is closed before that.
class JobFiles {
 public:
  struct Wiring {
    std::function<Async<Leftovers>(std::vector<JobId>)> leftovers;
    std::function<bool(const JobId&)> in_use;
    std::function<void(const JobId&)> close;  // Whatever holds files of the job open here.
    std::function<void(std::string sentence)> on_notice;
  };

  JobFiles(async::EventLoop& loop, std::string home, Wiring wiring);
  Result<void> start();
  Async<void> stop();

  Async<void> remove(JobId job);
  // Removes what a process that was killed, or was not there, should have removed: an order to
  // remove is sent once.
  Async<void> sweep(async::StopToken stop);
  // What a person should know: sentences.
  std::vector<std::string> notices() const;

 private:
  static constexpr std::size_t kNoticesMax = 10;

  Async<void> set_aside_unknown(std::vector<JobId> jobs, async::StopToken stop);
  Async<void> set_aside_one(JobId job);

  async::EventLoop& loop_;
  const std::string home_;
  const Wiring wiring_;
  std::unique_ptr<async::Worker> removals_;
  std::string set_aside_notice_;
  std::map<JobId, std::string> unremoved_;  // Deleted jobs whose files are still there, and why.
};

}  // namespace runnel::agent
