#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/devices.h"
#include "model/health.h"
#include "model/holding.h"
#include "model/node.h"
#include "model/quarantine.h"
#include "model/refs.h"
#include "model/report.h"
#include "model/spec.h"
#include "model/status.h"

namespace runnel::model {

// What happened. State is a fold over these, and nothing else changes it. Each event carries the
// outcome, never the question: applying one decides nothing. kType is the `type` of its document.

struct JobSubmitted {
  static constexpr std::string_view kType = "job.submitted";
  JobId job;
  ProjectId project;
  QueueId queue;
  std::string owner;
  std::string idempotency_key;
  std::string body_hash;
  std::shared_ptr<const JobSpec> spec;
  std::string actor;  // The asker, and owner of the key; empty: a build that did not tell.
  // By what the specifications say, not by where they are.
  friend bool operator==(const JobSubmitted&, const JobSubmitted&);
};

struct JobChanged {
  static constexpr std::string_view kType = "job.changed";
  JobId job;
  Status to = Status::kQueued;
  std::string reason;  // One CamelCase word.
  std::string message;
  std::string actor;  // A user, or "runnel".
  friend bool operator==(const JobChanged&, const JobChanged&) = default;
};

struct StepChanged {
  static constexpr std::string_view kType = "step.changed";
  JobId job;
  StepIndex step;
  Status to = Status::kQueued;
  std::string reason;
  std::string message;
  friend bool operator==(const StepChanged&, const StepChanged&) = default;
};

// Tasks without a live attempt change together: [begin, end) ranges of indexes.
struct TasksChanged {
  static constexpr std::string_view kType = "tasks.changed";
  JobId job;
  StepIndex step;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  Status to = Status::kQueued;
  std::string reason;
  std::string actor;
  friend bool operator==(const TasksChanged&, const TasksChanged&) = default;
};

// An allocation is held for tasks of one step, one after the other: it is what counts against
// capacity. A gang's lane has several places and one task at a time.
struct LaneOpened {
  static constexpr std::string_view kType = "lane.opened";
  LaneId lane;
  JobId job;
  StepIndex step;
  Holding holding;
  Resources per_place;    // What each place takes (cpus resolved for whole-node steps).
  std::int32_t port = 0;  // For gangs: MASTER_PORT on the first place's node.
  // Only tasks that are suspects of this crash may be beside it on its nodes; zero: any.
  std::int64_t apart = 0;
  friend bool operator==(const LaneOpened&, const LaneOpened&) = default;
};

// Tasks bound to a lane, to be run in this order.
struct LaneTask {
  TaskIndex index;
  AttemptNumber attempt;
  std::vector<std::pair<std::string, std::string>> params;  // Drawn values, in the spec's order.
  friend bool operator==(const LaneTask&, const LaneTask&) = default;
};

struct LaneExtended {
  static constexpr std::string_view kType = "lane.extended";
  LaneId lane;
  JobId job;
  StepIndex step;
  std::vector<LaneTask> tasks;
  friend bool operator==(const LaneExtended&, const LaneExtended&) = default;
};

struct LaneClosed {
  static constexpr std::string_view kType = "lane.closed";
  LaneId lane;
  JobId job;
  friend bool operator==(const LaneClosed&, const LaneClosed&) = default;
};

// The holder of a lane without places was heard of.
struct LaneRenewed {
  static constexpr std::string_view kType = "lane.renewed";
  LaneId lane;
  JobId job;
  friend bool operator==(const LaneRenewed&, const LaneRenewed&) = default;
};

// The first rank of the attempt runs.
struct AttemptRunning {
  static constexpr std::string_view kType = "attempt.running";
  AttemptRef attempt;
  LaneId lane;
  Time started_at;
  friend bool operator==(const AttemptRunning&, const AttemptRunning&) = default;
};

// One rank of a gang ended while others still run (never the last one: see AttemptEnded).
struct RankEnded {
  static constexpr std::string_view kType = "rank.ended";
  AttemptRef attempt;
  std::int32_t rank = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  Time ended_at;
  EndCause cause = EndCause::kExited;
  friend bool operator==(const RankEnded&, const RankEnded&) = default;
};

// The attempt is asked to end: TERM, grace, KILL.
struct AttemptStopping {
  static constexpr std::string_view kType = "attempt.stopping";
  AttemptRef attempt;
  LaneId lane;
  Status because = Status::kCancelled;  // Or kPaused, kFailed (a rank failed), kPreempted, kPruned,
                                        // kNodeFail (a device vanished).
  std::string actor;
  friend bool operator==(const AttemptStopping&, const AttemptStopping&) = default;
};

struct RankExit {
  std::int32_t rank = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  friend bool operator==(const RankExit&, const RankExit&) = default;
};

// A rank has a problem, and the step's policy says what comes of it: the attempt's end, when it is
// to end, is in an event beside this one. Each problem at most once per attempt.
struct TaskWarned {
  static constexpr std::string_view kType = "task.warned";
  AttemptRef attempt;
  std::int32_t rank = 0;
  HealthProblem reason = HealthProblem::kHung;
  std::string message;  // A sentence with the rank and the numbers.
  Time since;           // By the clock of the rank's node.
  HealthAction action = HealthAction::kWarn;
  friend bool operator==(const TaskWarned&, const TaskWarned&) = default;
};

// All ranks ended, or can never be heard of again. Carries what becomes of the task.
struct AttemptEnded {
  static constexpr std::string_view kType = "attempt.ended";
  AttemptRef attempt;
  LaneId lane;
  Status to = Status::kSucceeded;  // The attempt's end state.
  Time started_at;                 // Zero when it never ran.
  Time ended_at;
  std::vector<RankExit> exits;     // Ranks that did not end with 0 only; empty when all did.
  std::int32_t first_failed = -1;  // Rank, or -1.
  Fault fault = Fault::kNone;
  std::string reason;  // CamelCase.
  std::string message;
  Status task = Status::kSucceeded;  // The task's state after this.
  Time not_before;                   // kRecovering: earliest next attempt; zero: at once.
  bool charged = false;              // Used one of retry.max.
  VolumeVersions published;          // Of volumes, by a step that publishes.
  friend bool operator==(const AttemptEnded&, const AttemptEnded&) = default;
};

// An attempt that ran while its runner crashed.
struct RanAtCrash {
  AttemptRef attempt;
  bool alone = false;      // Nothing else ran on the node.
  std::int32_t turn = -1;  // When its task is tried apart, the smallest first; -1: it is not.
  Duration outlive;        // It is cleared once it runs for this long: apart, if it is tried apart.
  friend bool operator==(const RanAtCrash&, const RanAtCrash&) = default;
};

// A node's runner was killed or crashed on a machine that went on, so one of these may have done
// it.
struct RunnerCrashed {
  static constexpr std::string_view kType = "runner.crashed";
  NodeId node;
  Incarnation incarnation;  // The life that ended.
  std::int64_t crash = 0;   // A number of its own.
  std::vector<RanAtCrash> ran;
  friend bool operator==(const RunnerCrashed&, const RunnerCrashed&) = default;
};

// No crash of a runner is held against the task any more.
struct TaskCleared {
  static constexpr std::string_view kType = "task.cleared";
  JobId job;
  StepIndex step;
  TaskIndex task;
  std::string reason;  // CamelCase: Ended, Outlived, Explained (another was found out), Unrelated.
  friend bool operator==(const TaskCleared&, const TaskCleared&) = default;
};

struct NodeJoined {
  static constexpr std::string_view kType = "node.joined";
  NodeInfo node;
  Incarnation incarnation;
  // Ranks that run there though nobody wants them any more, ascending: they may hold devices.
  std::vector<RankRef> strangers = {};
  friend bool operator==(const NodeJoined&, const NodeJoined&) = default;
};

struct NodeLeft {
  static constexpr std::string_view kType = "node.left";
  NodeId node;
  Incarnation incarnation;
  std::string reason;
  friend bool operator==(const NodeLeft&, const NodeLeft&) = default;
};

// The node will be taken away: it gets no more work.
struct NodeLeaving {
  static constexpr std::string_view kType = "node.leaving";
  NodeId node;
  Incarnation incarnation;
  Time leaves_at;
  std::string reason;
  friend bool operator==(const NodeLeaving&, const NodeLeaving&) = default;
};

// Ranks that nobody wanted any more have ended there.
struct StrangersEnded {
  static constexpr std::string_view kType = "node.strangers_ended";
  NodeId node;
  std::vector<RankRef> ranks;
  friend bool operator==(const StrangersEnded&, const StrangersEnded&) = default;
};

// All devices of the node that are granted to nobody from now on: those that vanished, and those
// that are back and have not stayed yet.
struct DevicesQuarantined {
  static constexpr std::string_view kType = "node.devices_quarantined";
  NodeId node;
  std::vector<QuarantinedDevice> devices;  // Ascending by kind and index.
  friend bool operator==(const DevicesQuarantined&, const DevicesQuarantined&) = default;
};

// A user wants the job to rest until it is resumed. What becomes of its tasks is in other events.
struct JobHalted {
  static constexpr std::string_view kType = "job.halted";
  JobId job;
  std::string actor;
  friend bool operator==(const JobHalted&, const JobHalted&) = default;
};

// A search asks for its next trial: the step's task with this index has these parameters from now
// on, whatever becomes of its attempts.
struct TrialAsked {
  static constexpr std::string_view kType = "trial.asked";
  JobId job;
  StepIndex step;
  TaskIndex trial;  // How many were asked before.
  std::vector<std::pair<std::string, std::string>> params;
  friend bool operator==(const TrialAsked&, const TrialAsked&) = default;
};

// A report that a decision rests on: one that a pruner judges, or an attempt's last.
struct TrialReported {
  static constexpr std::string_view kType = "trial.reported";
  AttemptRef attempt;
  std::int64_t at = 0;              // The step of the training.
  std::vector<std::string> values;  // One per objective.
  friend bool operator==(const TrialReported&, const TrialReported&) = default;
};

// The trial gives its place to others, and may be promoted later.
struct TrialParked {
  static constexpr std::string_view kType = "trial.parked";
  JobId job;
  StepIndex step;
  TaskIndex trial;
  friend bool operator==(const TrialParked&, const TrialParked&) = default;
};

// A parked trial goes on before new ones.
struct TrialPromoted {
  static constexpr std::string_view kType = "trial.promoted";
  JobId job;
  StepIndex step;
  TaskIndex trial;
  friend bool operator==(const TrialPromoted&, const TrialPromoted&) = default;
};

// A member of a population goes on from the checkpoint of another one, with these parameters.
struct TrialMoved {
  static constexpr std::string_view kType = "trial.moved";
  JobId job;
  StepIndex step;
  TaskIndex trial;
  TaskIndex donor;
  std::int64_t at = 0;  // The step of its last report.
  std::vector<std::pair<std::string, std::string>> params;
  friend bool operator==(const TrialMoved&, const TrialMoved&) = default;
};

enum class TrialEnd : std::uint8_t { kComplete, kPruned, kFailed };

// The outcome of a trial; `best` is the search's best trial now, -1 while there is none.
struct TrialTold {
  static constexpr std::string_view kType = "trial.told";
  JobId job;
  StepIndex step;
  TaskIndex trial;
  TrialEnd end = TrialEnd::kComplete;
  std::int64_t best = -1;
  friend bool operator==(const TrialTold&, const TrialTold&) = default;
};

// A search is given up because its trials fail: it asks for nothing more, and its step fails.
struct SearchStopped {
  static constexpr std::string_view kType = "search.stopped";
  JobId job;
  StepIndex step;
  std::string reason;   // CamelCase: TooManyFailures, AllFailAlike.
  std::string message;  // A sentence with the cause.
  friend bool operator==(const SearchStopped&, const SearchStopped&) = default;
};

// The record of a finished job left the state for the archive.
struct JobArchived {
  static constexpr std::string_view kType = "job.archived";
  JobId job;
  friend bool operator==(const JobArchived&, const JobArchived&) = default;
};

// A job that had left for the archive is back in the state as it was, because its user wants it
// tried again. `record` is what the archive kept of it (brain::encode_job()).
struct JobRestored {
  static constexpr std::string_view kType = "job.restored";
  JobId job;
  std::string record;
  friend bool operator==(const JobRestored&, const JobRestored&) = default;
};

// A user removed the record: job, logs and folders go.
struct JobDeleted {
  static constexpr std::string_view kType = "job.deleted";
  JobId job;
  std::string actor;
  friend bool operator==(const JobDeleted&, const JobDeleted&) = default;
};

// An idempotency key is older than 24 hours.
struct KeyExpired {
  static constexpr std::string_view kType = "key.expired";
  std::string key;
  ProjectId project;  // Empty, as `actor`, for a key that is everybody's.
  std::string actor;
  friend bool operator==(const KeyExpired&, const KeyExpired&) = default;
};

using Event =
    std::variant<JobSubmitted, JobChanged, StepChanged, TasksChanged, LaneOpened, LaneExtended,
                 LaneClosed, AttemptRunning, RankEnded, AttemptStopping, AttemptEnded, NodeJoined,
                 NodeLeft, JobArchived, JobDeleted, KeyExpired, TrialAsked, TrialReported,
                 TrialParked, TrialPromoted, TrialTold, JobHalted, NodeLeaving, LaneRenewed,
                 TrialMoved, TaskWarned, StrangersEnded, RunnerCrashed, TaskCleared, SearchStopped,
                 JobRestored, DevicesQuarantined>;

// "job.submitted", "attempt.ended": the `type` of an event's document.
std::string_view type_of(const Event& event);
// The job an event is about; empty for node events.
JobId job_of(const Event& event);

}  // namespace runnel::model
