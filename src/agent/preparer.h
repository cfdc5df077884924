#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/patient_reads.h"
#include "agent/phases/phase.h"
#include "agent/place.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/order.h"
#include "output/metric_plan.h"
#include "runner/message.h"

namespace runnel::agent {

// Makes attempts ready to be handed to the runner, phase by phase (agent/phases/).
//
// Contract: prepare() may be done again after a kill at any moment, and finds what was done.
// Threads:  the loop's only. Each phase has threads of its own (PatientReads), so that one that
//           hangs holds up nobody else.
// Lifetime: what it awaits runs in a gate that is closed before destruction.
class Preparer {
 public:
  struct Prepared {
    runner::PlaceStart place;
    // Of a trial: where it reports besides its file, if it does, and the record of the job's index
    // from which its output is found.
    output::MetricPlanPtr plan;
    std::int64_t output_from = 0;
  };

  Preparer(async::EventLoop& loop, env::Clock& clock, std::string home, PlaceContext context);

  // Of an order that needs no phase; none: prepare() it.
  std::optional<Result<Prepared>> at_once(const NodeId& node, const model::StartOrder& order) const;
  Async<Prepared> prepare(NodeId node, model::StartOrder order, async::StopToken stop);

  // Makes plan_of() know the steps of tasks from before our time.
  Async<void> load_plans(std::vector<model::TaskRef> tasks);
  // Null: none is known.
  output::MetricPlanPtr plan_of(const model::TaskRef& task) const;

 private:
  static constexpr Duration kTurnAgainAfter = Duration::millis(50);

  struct Stage {
    Stage(async::EventLoop& loop, env::Clock& clock, std::shared_ptr<const Phase> of);

    std::shared_ptr<const Phase> phase;  // Of threads that were left alone, too.
    PatientReads calls;
  };
  Async<Readiness> pass(Stage& stage, const model::StartOrder& order, Readiness so_far,
                        async::StopToken stop);
  Async<Readiness> pass_once(Stage& stage, const model::StartOrder& order, Readiness so_far,
                             async::StopToken stop);
  Result<Prepared> prepared(const NodeId& node, const model::StartOrder& order,
                            Readiness ready) const;
  Readiness known_of(const model::StartOrder& order) const;

  async::EventLoop& loop_;
  const std::string home_;
  const PlaceContext context_;
  output::MetricPlans plans_;
  std::list<Stage> stages_;  // In the order in which attempts pass them.
  PatientReads loads_;
};

}  // namespace runnel::agent
