#include "agent/phases/output_begin.h"

#include "base/check.h"
#include "output/index_file.h"
#include "output/paths.h"

namespace runnel::agent {

bool OutputBeginPhase::is_needed(const model::StartOrder& order) const {
  return order.first_rank == 0 && !order.objectives.empty() && !order.metrics.log.empty();
}

Workplace OutputBeginPhase::workplace(const model::StartOrder& order) const {
  return {output::logs_folder(home_, order.attempt.task.job), Reach::kFolder};
}

Result<Readiness> OutputBeginPhase::prepare(const NodeId&, const model::StartOrder& order,
                                            Readiness so_far, PathTrail&) const {
  CHECK(is_needed(order), "an attempt's output is looked for that nobody reads metrics from");
  const std::string logs = output::logs_folder(home_, order.attempt.task.job);
  so_far.output_from = output::IndexFile(logs).records();
  return so_far;
}

}  // namespace runnel::agent
