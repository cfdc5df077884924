#pragma once

#include <string>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "control/log_source.h"
#include "http/message.h"

namespace runnel::control {

// Tells what the tasks of a job wrote, and goes on as they write.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class LogRoute {
 public:
  LogRoute(async::EventLoop& loop, Controller& controller, LogSource& logs, KnownJobs& jobs)
      : loop_(loop), controller_(controller), logs_(logs), jobs_(jobs) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> read(Ask ask, LogsQuery wanted);
  // Without a specification steps are told by their positions.
  Result<model::LogFilter> filter_of(const LogsQuery& query, const JobId& job,
                                     const model::JobSpec* spec) const;
  // How output is told.
  struct LogForm {
    Flag follow = Flag::kOff;
    StreamForm stream = StreamForm::kJsonLines;
    bool raw = false;
    bool ends_with_page = false;  // The last lines are there; what is written meanwhile is no part.
    std::vector<std::string> step_names;
  };
  struct LogRead {
    model::LogPage page;
    bool over = false;  // The job had ended before: nothing follows an empty page.
  };
  Async<LogRead> read_page(model::LogFilter query, std::string cursor);
  // Over as many turns of the loop as it takes.
  Async<void> write_piece(const model::LogPiece& piece, const LogForm& form,
                          http::StreamWriter& out);
  Async<void> stream_logs(model::LogFilter query, LogRead read, LogForm form,
                          http::StreamWriter& out);
  Async<void> more_output(JobId job, async::StopToken stop);

  async::EventLoop& loop_;
  Controller& controller_;
  LogSource& logs_;
  KnownJobs& jobs_;
};

}  // namespace runnel::control
