#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/units.h"
#include "brain/study.h"
#include "model/cost.h"
#include "model/event.h"
#include "model/node.h"
#include "model/refs.h"
#include "model/spec.h"
#include "model/status.h"

namespace runnel::brain {

// What the step's policy says of a live attempt of which a rank has a problem: it is to end.
struct Verdict {
  model::HealthProblem reason = model::HealthProblem::kHung;
  model::HealthAction action = model::HealthAction::kKill;
  std::int32_t rank = 0;
  std::string message;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The attempt that a task has on a lane now.
struct LiveAttempt {
  AttemptNumber number;
  LaneId lane;
  model::Status status = model::Status::kStarting;
  Time started_at;                        // Zero until it is known to run.
  std::optional<model::Status> stopping;  // Why it was asked to end, once it was.
  std::vector<std::pair<std::string, std::string>> params;
  std::map<std::int32_t, model::RankExit> ended_ranks;
  std::int32_t first_failed = -1;
  model::EndCause first_failed_cause = model::EndCause::kExited;
  std::vector<model::HealthProblem> warned;  // Each at most once.
  std::optional<Verdict> verdict;
  bool crashed = false;  // Its runner crashed, and that was judged: its node will tell its end.

  // Whether nobody asked it to end. One that was only asked back from its lane may have begun
  // meanwhile, and then goes on.
  bool continues() const { return !stopping.has_value() || *stopping == model::Status::kQueued; }

  friend bool operator==(const LiveAttempt&, const LiveAttempt&) = default;
};

// A task that ran while its node's runner crashed, once more: it is tried apart from others.
struct Suspicion {
  std::int64_t crash = 0;  // Only suspects of the same crash may be beside it.
  std::int32_t turn = 0;   // Those with the smallest go first.
  Duration outlive;        // It is cleared once it runs apart for this long.
  NodeId node;             // The one whose runner crashed, or one of those that shared it,
  bool alone = false;      // while nothing else ran there.
  friend bool operator==(const Suspicion&, const Suspicion&) = default;
};

// A task with something to remember: it is live, was retried, or failed.
struct Task {
  model::Status status = model::Status::kQueued;
  AttemptNumber attempts;    // Numbers given so far.
  std::int32_t charged = 0;  // Failures that used up retry.max.
  std::int32_t losses = 0;   // Attempts lost through no fault of the task, since the last charge.
  std::int32_t crashes = 0;  // By runners of its nodes while it ran, since it was cleared.
  std::int32_t alone = 0;    // Those of `crashes` while only it ran there.
  Duration outlive;          // A crash after this much of an attempt is a first one again.
  std::optional<Suspicion> suspicion;
  Time not_before;       // kRecovering: when it may start again.
  std::string obstacle;  // kRecovering: why its last attempt could not start, if it could not.
  std::int32_t exit_code = 0;  // The first failing rank's in the last attempt, 128+n for signal n.
  std::string reason;          // The last change's.
  std::optional<LiveAttempt> live;

  friend bool operator==(const Task&, const Task&) = default;
};

// A rank of one of a step's tasks ailed.
struct Warning {
  TaskIndex task;
  AttemptNumber attempt;
  std::int32_t rank = 0;
  model::HealthProblem reason = model::HealthProblem::kHung;
  model::HealthAction action = model::HealthAction::kWarn;
  std::string message;
  Time since;
  Time at;
  friend bool operator==(const Warning&, const Warning&) = default;
};
inline constexpr std::size_t kWarningsMax = 10;  // Per step; of more the oldest go.

using StatusCounts = std::array<std::int64_t, model::kStatusCount>;

// A step's tasks, of which most are ranges: `plain` holds by status the tasks that nothing was ever
// remembered of (never attempted, or succeeded at the first attempt), `tasks` all others.
struct Step {
  model::Status status = model::Status::kQueued;
  std::string reason;
  std::map<model::Status, IntervalSet> plain;
  std::map<TaskIndex, Task> tasks;
  StatusCounts counts{};            // `plain` and `tasks` by status; the sum is task_count.
  std::int32_t lanes = 0;           // Open now.
  model::Rate rate;                 // The sum over the open lanes.
  model::Cost spent;                // By all lanes up to `accrued_at`; see spent_by().
  Time accrued_at;                  // When the rate last changed.
  std::int64_t recent_millis = -1;  // Moving average of run times; -1: none ended yet.
  std::optional<Study> study;       // Only a step with a search has one.
  std::deque<Warning> warnings;     // The newest last.
  std::int64_t warned = 0;          // How many there were.
  model::VolumeVersions published;  // What it has published, once it has.
  Time ready_since;                 // When its dependencies were met.
  Time started_at;
  Time ended_at;

  friend bool operator==(const Step&, const Step&) = default;
};

struct Job {
  JobId id;
  ProjectId project;
  QueueId queue;
  std::string owner;
  std::int64_t order = 0;  // Grows with each submission.
  model::Status status = model::Status::kQueued;
  std::string reason;
  std::string message;
  bool halted = false;  // By a user, until it is resumed or ends.
  std::shared_ptr<const model::JobSpec> spec;
  std::vector<Step> steps;  // As in spec->steps.
  Time submitted_at;
  Time started_at;
  Time ended_at;
  EventSeq first_event;  // Its history starts here.
};

// An allocation: the unit that counts against capacity.
struct Lane {
  LaneId id;
  JobId job;
  StepIndex step;
  model::Holding holding;
  model::Resources per_place;
  std::int32_t port = 0;
  std::int64_t apart = 0;       // Only suspects of this crash may be beside it; zero: anybody.
  std::deque<TaskIndex> queue;  // Bound tasks, the first one running.
  model::Rate rate;             // What it costs, from its nodes' prices when it was opened.
  Time opened_at;
  Time progress_at;  // When its queue last began anew or lost its first task, or it was renewed.

  // None while somebody elsewhere holds it.
  const std::vector<model::Place>& places() const { return model::places_of(holding); }
  // Null when nodes run its tasks.
  const model::Lease* lease() const { return std::get_if<model::Lease>(&holding); }

  friend bool operator==(const Lane&, const Lane&) = default;
};

struct Node {
  model::NodeInfo info;
  Incarnation incarnation;
  bool up = false;
  Time leaves_at;      // It is up, and will be taken away then; zero: nobody said so.
  std::string reason;  // Why it is not up, or will not be.
  // Ranks that run there though nobody wants them any more, ascending. Which devices they hold
  // nobody knows, so none are granted there until they have ended.
  std::vector<model::RankRef> strangers = {};
  // Granted to nobody, ascending by kind and index: what vanished, or is back and not proven.
  std::vector<model::QuarantinedDevice> quarantined = {};

  // Whether it may be back, where it is down.
  bool is_member() const { return up || reason != model::kLeftReason; }
  // Whether it may be given work.
  bool takes_work() const { return up && leaves_at == Time() && !info.draining; }
  bool grants_devices() const { return strangers.empty() && !info.withholds_devices; }

  friend bool operator==(const Node&, const Node&) = default;
};

// An idempotency key, and whose it is. Of one that came with a log of an earlier build neither
// project nor actor is known: it is everybody's until it expires.
struct KeyName {
  ProjectId project;
  std::string actor;
  std::string key;

  static KeyName of(const ProjectId& project, const std::string& actor, const std::string& key) {
    return actor.empty() ? KeyName{{}, {}, key} : KeyName{project, actor, key};
  }
  friend auto operator<=>(const KeyName&, const KeyName&) = default;
};

struct KeyRecord {
  std::string body_hash;
  JobId job;
  Time at;
  friend bool operator==(const KeyRecord&, const KeyRecord&) = default;
};

// Everything that decisions rest on. A fold of events; see apply().
struct State {
  Time now;             // The last input's; never goes back.
  EventSeq last_event;  // Folded so far.
  std::map<JobId, Job> jobs;
  std::map<NodeId, Node> nodes;
  std::map<LaneId, Lane> lanes;
  std::map<KeyName, KeyRecord> keys;
  std::deque<JobId> finished;  // In order of their ends; the oldest are archived first.
  LaneId last_lane;
  std::int64_t last_order = 0;
  std::int32_t last_port = 0;
};

inline constexpr std::size_t kUnfinishedJobsMax = 100'000;  // More are refused (kFull).
inline constexpr std::size_t kKeysMax = 100'000;            // More are refused (kFull).

// Where a simulation has less patience than a home.
struct Limits {
  std::size_t finished_jobs = 1'000;  // More are archived.
  Duration key_life = Duration::hours(24);
};

// Folds one event that happened at `now` into the state. Decides nothing; exact arithmetic only.
// CHECKs that the event fits the state: a log that does not is damaged and was refused before.
void apply(State& state, const model::Event& event, Time now);

// The state as canonical JSON, and back. hash = SHA-256 of the text.
std::string encode_state(const State& state);
Result<State> decode_state(std::string_view text);

// A finished job by itself, as the archive keeps it: canonical JSON. Kept tasks with the same past
// stand together as ranges, so that a million tasks which failed alike take no more than one.
std::string encode_job(Job job);
Result<Job> decode_job(std::string_view text);

const Step& step_of(const State& state, const JobId& job, StepIndex step);
const model::StepSpec& spec_of(const State& state, const JobId& job, StepIndex step);
// The status of any task, plain or not.
model::Status status_of(const Step& step, TaskIndex index);
// How often the task was begun.
AttemptNumber attempts_of(const Step& step, TaskIndex index);
// A task by reference, or null when it is plain or unknown.
const Task* find_task(const State& state, const model::TaskRef& task);
// What the step has cost up to `now`, its open lanes included.
model::Cost spent_by(const Step& step, Time now);
bool all_ended(const StatusCounts& counts);
// Whether anything runs or waits; a halted job does neither.
bool has_work(const State& state);
std::int64_t count_of(const StatusCounts& counts, model::Status status);

}  // namespace runnel::brain
