#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/file_reads.h"
#include "agent/hooks/checkpoint_copy.h"
#include "agent/hooks/secrets.h"
#include "agent/patient_reads.h"
#include "agent/place.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/worker.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/order.h"
#include "output/metric_plan.h"
#include "runner/message.h"

namespace runnel::agent {

// Makes attempts ready to be handed to the runner: reads their secrets, keeps where they report,
// copies the checkpoint that they begin with.
//
// Contract: prepare() may be done again after a kill at any moment, and finds what was done.
// Threads:  the loop's only. Plans are kept on the worker "agent-plans", checkpoints copied on
//           "agent-copies", however long that takes. Each file that holds a secret, and what a task
//           has reported before, is read on a thread of its own: one that hangs holds up nobody
//           else.
// Lifetime: start() .. stop(), which is awaited before destruction; what it awaits runs in a gate
//           that is closed before that.
class Preparer {
 public:
  struct Prepared {
    runner::PlaceStart place;
    // Of a trial: where it reports besides its file, if it does, and the record of the job's index
    // from which its output is found.
    output::MetricPlanPtr plan;
    std::int64_t output_from = 0;
  };

  // `queued_max`: preparations that wait for a worker.
  Preparer(async::EventLoop& loop, env::Clock& clock, PlaceContext context, std::size_t queued_max);
  Result<void> start();
  Async<void> stop();

  // Of an order for which no file must be read or written; none: prepare() it.
  std::optional<Result<Prepared>> at_once(const NodeId& node, const model::StartOrder& order) const;
  Async<Prepared> prepare(NodeId node, model::StartOrder order, async::StopToken stop);

  // Makes plan_of() know the steps of tasks from before our time.
  Async<void> load_plans(std::vector<model::TaskRef> tasks);
  // Null: none is known.
  output::MetricPlanPtr plan_of(const model::TaskRef& task) const;

 private:
  static constexpr Duration kTurnAgainAfter = Duration::millis(50);
  static constexpr Duration kCopyAgainAfter = Duration::millis(100);
  static constexpr int kCopiesMax = 100;  // Of a checkpoint that is being written.

  bool needs_files(const model::StartOrder& order) const;
  Async<SecretTexts> read_secrets(const model::StartOrder& order, async::StopToken stop);
  Async<void> keep_plan(const model::StartOrder& order);
  Async<void> keep_begin(const model::StartOrder& order, async::StopToken stop);
  Async<void> copy(CheckpointCopy copy, async::StopToken stop);
  Async<std::int64_t> output_begin(JobId job);

  async::EventLoop& loop_;
  const PlaceContext context_;
  const std::size_t queued_max_;
  FileReads reads_;
  PatientReads begin_reads_;
  output::MetricPlans plans_;
  std::unique_ptr<async::Worker> plan_files_;
  std::unique_ptr<async::Worker> copies_;
};

}  // namespace runnel::agent
