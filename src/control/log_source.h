#pragma once

#include <string>
#include <vector>

#include "async/async.h"
#include "async/stop_token.h"
#include "base/ids.h"
#include "model/log.h"
#include "model/metrics.h"
#include "model/usage.h"

namespace runnel::control {

// Where tasks' output and metrics can be read, and what they use.
//
// Contract: `nodes` are those on which the job has lanes now: there its output grows, and its tasks
//           use something. What attempts that have ended wrote is read without their nodes, whose
//           agents tell an end only when that can be done. Without nodes, changed() returns soon
//           after a task begins, or whenever a while has passed.
//           read() yields what lies behind the cursor ("" is the beginning; `tail` and `since`
//           apply there only), about model::kLogPageBytes at a time, and an empty page when there
//           is nothing more now. A piece ends at the end of a line, unless the attempt has ended,
//           the line is longer than a page, or its rest has been a second in coming. kInvalid for a
//           cursor that is none. Lines that were written and cannot be told are named in the page's
//           damage. changed() returns when there may be more to read, and soon when nobody can
//           tell; it may return without reason.
// Threads:  the loop's only; the implementation does its reading elsewhere.
// Lifetime: outlives the Api that uses it.
// Why:      in a home all nodes write into one folder, which control could read itself; elsewhere
//           they do not.
class LogSource {
 public:
  using NodeIds = std::vector<NodeId>;  // Each once.

  virtual ~LogSource() = default;
  virtual Async<model::LogPage> read(NodeIds nodes, model::LogFilter query, std::string cursor) = 0;
  virtual Async<void> changed(NodeIds nodes, JobId job, async::StopToken stop) = 0;
  // A page of what tasks reported: to $RUNNEL_METRICS_FILE, in their output, to TensorBoard.
  virtual Async<model::MetricPage> read_metrics(NodeIds nodes, model::MetricFilter filter) = 0;
  // What a job's attempts use now; takes as long as it must watch them.
  virtual Async<std::vector<model::TaskUsage>> read_usage(NodeIds nodes, JobId job) = 0;
};

}  // namespace runnel::control
