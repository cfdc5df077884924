#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/health.h"
#include "model/refs.h"
#include "model/spec.h"

namespace runnel::model {

// A task begins with what another one of its job has saved.
struct CheckpointSource {
  TaskRef task;
  std::string dir;          // Its checkpoint.dir, filled.
  std::int64_t number = 1;  // The task's first, second, ... such beginning: each is made once.

  friend bool operator==(const CheckpointSource&, const CheckpointSource&) = default;
};

// The branches of volumes that the tasks of a step wrote, to be made one version of each.
struct MergeOrder {
  std::string branches;  // What their names begin with: "JOB.STEP". The name of the merge, too.
  // The tasks that succeeded, as ranges without their ends.
  std::vector<std::pair<std::int64_t, std::int64_t>> tasks;
  std::int32_t world_size = 1;  // Ranks of each: branch_of_rank().
  VolumeVersions published;     // Once it is done; only in what a node notes for itself.
  friend bool operator==(const MergeOrder&, const MergeOrder&) = default;
};

// What control wants of one node for one attempt: run these ranks, in this lane, in this order.
//
// Contract: idempotent; a node that has (or had, and has not been told to forget) the attempt
//           changes nothing. Everything but secrets' values, paths of the home and the free choice
//           of output files is decided here, purely.
struct StartOrder {
  AttemptRef attempt;
  LaneId lane;  // Attempts of one lane run one after the other, in order of arrival.
  std::int32_t first_rank = 0;  // Ranks first_rank .. first_rank+rank_count-1 run here.
  std::int32_t rank_count = 1;
  std::int32_t world_size = 1;
  std::int32_t node_rank = 0;  // Which place of the gang this is.
  std::int32_t num_nodes = 1;
  std::int32_t port = 0;          // Gang's port; checked free by the node of rank 0.
  std::vector<std::string> argv;  // Templates filled; argv[0] is looked up in PATH.
  // Variables that do not depend on the node's paths or on the rank: own, torch, torchrun, threads,
  // and the user's envs (already merged by the rule of precedence).
  std::vector<std::pair<std::string, std::string>> env;
  // Variables that the gang's places here do not share, in their order: the devices that each was
  // granted. Empty without any. The ranks of a place have them where `env` does not say otherwise.
  std::vector<std::vector<std::pair<std::string, std::string>>> place_env;
  std::vector<SecretRef> secrets;
  std::vector<VolumeUse> volumes;
  // What the task's branches of the volumes that it writes are called (branch_of_rank()). Empty
  // where it writes none.
  std::string branch;
  std::optional<MergeOrder> merge;  // Of the volumes, before the attempt begins.
  std::string workdir;
  Bytes memory_max;  // Zero: no limit.
  std::int64_t milli_cpus = 0;
  Duration max_duration;  // Zero: no limit; the runner enforces it.
  Duration grace;
  Bytes max_log;
  std::optional<CheckpointPolicy> checkpoint;
  std::optional<CheckpointSource> checkpoint_from;
  MetricSources metrics;  // Besides the file of metrics.
  // The metrics that a trial's search looks at: the trial's reports are told. Empty: nothing is
  // told.
  std::vector<std::string> objectives;
  // Its reports are read while it runs, and those of earlier attempts of the task are not its own:
  // a search or a health policy looks at them.
  bool is_followed = false;
  bool keep_task_dir = false;  // The step may try a task again: its folder has a lasting place.

  friend bool operator==(const StartOrder&, const StartOrder&) = default;
};

enum class StopReason : std::uint8_t {
  kCancelled,
  kHalted,
  kRankFailed,
  kPreempted,
  kWithdrawn,  // Only if it has not started: it would wait too long here. A running one goes on.
};

struct StopOrder {
  AttemptRef attempt;
  Duration grace;
  StopReason reason = StopReason::kCancelled;

  friend bool operator==(const StopOrder&, const StopOrder&) = default;
};

// What to look for in an attempt whose ranks first_rank .. first_rank+rank_count-1 run here. Comes
// with its start, and again whenever the node joins: what looked before may be gone.
struct WatchOrder {
  AttemptRef attempt;
  std::int32_t first_rank = 0;
  std::int32_t rank_count = 1;
  std::int32_t world_size = 1;
  HealthPolicy health;

  friend bool operator==(const WatchOrder&, const WatchOrder&) = default;
};

// One message from control to a node. Sent after the batch behind it is durable.
struct NodeOrders {
  Epoch epoch;  // Older epochs than the newest seen are refused.
  // Grows with each message of an epoch. Where messages can be late or doubled, a node drops what
  // is not newer than the last it took, so that none can start again what has ended and been
  // forgotten; within one process, as in a home, they come once and in order.
  std::int64_t sequence = 0;
  NodeId node;
  Incarnation incarnation;
  std::vector<StartOrder> start;
  std::vector<WatchOrder> watch;
  std::vector<StopOrder> stop;
  std::vector<AttemptRef> forget;  // The end was recorded; drop the exit record.
  std::vector<JobId> remove;       // The job was deleted: drop its folders.

  friend bool operator==(const NodeOrders&, const NodeOrders&) = default;
};

inline bool empty(const NodeOrders& orders) {
  return orders.start.empty() && orders.watch.empty() && orders.stop.empty() &&
         orders.forget.empty() && orders.remove.empty();
}

}  // namespace runnel::model
