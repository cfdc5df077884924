#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/health.h"
#include "model/metric_spec.h"
#include "model/resources.h"
#include "model/search_spec.h"

namespace runnel::model {

// One parameter of a step. Numbers are kept as decimal text, exactly as the user wrote them.
struct Parameter {
  enum class Kind : std::uint8_t {
    kChoice,      // `values`: a scalar (one value), a list, or {choice: [...]}.
    kRange,       // {range: [low, high]}: all integers low..high, both included.
    kUniform,     // {uniform: [low, high]}: a real number in [low, high].
    kLogUniform,  // {loguniform: [low, high]}, 0 < low < high.
  };
  // Takes part only when the choice `parameter` takes part and has one of `values`.
  struct Condition {
    std::string parameter;
    std::vector<std::string> values;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  std::string name;
  Kind kind = Kind::kChoice;
  std::vector<std::string> values;
  std::string low;
  std::string high;
  std::string step;  // kUniform: only low, low + step, ... up to high; empty: all.
  bool log = false;  // kRange: searched on a logarithmic scale; low is at least 1.
  std::optional<Condition> when;

  bool continuous() const { return kind == Kind::kUniform || kind == Kind::kLogUniform; }
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// When a failed attempt is tried again. Lost nodes and preemption never use up `max`.
struct RetryPolicy {
  std::int32_t max = 0;                     // Attempts after the first that failures may cost.
  std::vector<std::int32_t> on_exit_codes;  // Empty with empty on_events: any failure.
  std::vector<std::string> on_events;       // node_fail, timeout, out_of_memory, failed.
  Duration backoff_min;                     // Doubles per failure from here ...
  Duration backoff_max;                     // ... to here.
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

struct CheckpointPolicy {
  std::string dir;                        // Inside the task's folder; kept over attempts.
  Duration every;                         // Told to the task (RUNNEL_CHECKPOINT_EVERY, seconds).
  std::optional<std::int32_t> exit_code;  // "I saved and want to go on": requeued, not failed.
  friend bool operator==(const CheckpointPolicy&, const CheckpointPolicy&) = default;
};

// A secret by reference: the value never enters the model, an event, a log or a process listing.
struct SecretRef {
  std::string name;    // The variable in the task's environment.
  std::string source;  // "env:NAME" (the submitting shell) or "file:/path".
  friend bool operator==(const SecretRef&, const SecretRef&) = default;
};

enum class VolumeMode : std::uint8_t {
  kRead,   // Tasks read a version.
  kWrite,  // Each rank writes a branch, over the newest version as its first attempt begins.
};

// A volume that tasks have as a folder.
struct VolumeUse {
  std::string name;  // The folder is in $RUNNEL_VOLUME_<NAME>: volume_variable().
  std::string volume;
  std::string version;  // A whole id once it is submitted, or "latest" of what an earlier step of
                        // the job publishes; before also a tag, a beginning.
                        // Empty where it is written.
  std::string store;    // Its URL; empty until it is submitted.
  bool linked = false;  // Whether files of it may be objects of other buckets.
  VolumeMode mode = VolumeMode::kRead;

  bool is_written() const { return mode == VolumeMode::kWrite; }
  friend bool operator==(const VolumeUse&, const VolumeUse&) = default;
};

// A process per rank. One of the two is given.
struct Command {
  std::string script;             // For `sh -ec`.
  std::vector<std::string> argv;  // Without a shell.

  static Command shell(std::string text) { return {std::move(text), {}}; }
  static Command words(std::vector<std::string> all) { return {"", std::move(all)}; }
  friend bool operator==(const Command&, const Command&) = default;
};

// Trials of a search that are asked for and told by somebody else; no node runs them.
struct ExternalTrials {
  friend bool operator==(const ExternalTrials&, const ExternalTrials&) = default;
};

using Run = std::variant<Command, ExternalTrials>;

struct StepSpec {
  std::string name;
  std::vector<StepIndex> depends_on;  // Earlier or later positions; the spec is acyclic.
  std::vector<Parameter> params;
  std::optional<std::int64_t> samples;  // Absent: the full grid.
  std::optional<SearchSpec> search;     // Adaptive; without `samples`.
  std::int64_t task_count = 1;          // Derived: samples, max_trials, or the size of the grid.

  Run run;

  std::int32_t num_nodes = 1;       // Places of the gang.
  std::int32_t procs_per_node = 1;  // Processes (ranks) per place.
  Resources resources;              // Per place. cpus already defaulted unless whole_node.
  bool whole_node = false;          // resources.cpus was not given and the job has one task.
  bool spot = false;                // May run on nodes that can be taken away, and prefers them.
  std::optional<std::int64_t> parallel;  // Most live tasks.
  RetryPolicy retry;
  std::optional<CheckpointPolicy> checkpoint;
  MetricSources metrics;  // Besides the file of metrics that every task has.
  HealthPolicy health;
  Duration max_duration;  // Per attempt; zero: no limit.
  Duration grace = Duration::seconds(30);
  Bytes max_log = Bytes::gibi(1);
  std::vector<std::pair<std::string, std::string>> envs;  // Sorted by name.
  std::vector<SecretRef> secrets;
  std::vector<VolumeUse> volumes;  // Sorted by name.
  // The step whose branches of volumes it merges (publishing_steps.h).
  std::optional<StepIndex> publishes;

  std::int32_t rank_count() const { return num_nodes * procs_per_node; }
  // Null when no node runs anything.
  const Command* command() const { return std::get_if<Command>(&run); }
  bool writes_volumes() const {
    return !publishes &&
           std::ranges::any_of(volumes, [](const VolumeUse& use) { return use.is_written(); });
  }
  bool is_external() const { return std::holds_alternative<ExternalTrials>(run); }
  friend bool operator==(const StepSpec&, const StepSpec&) = default;
};

// A validated job file. Made by `spec::` from YAML or by decode from JSON; never edited afterwards.
struct JobSpec {
  std::string name;
  std::int32_t priority = 0;  // Higher first.
  std::int64_t seed = 0;      // Feeds all draws.
  std::string workdir;        // Absolute; used in place by a home.
  // Variables of the submitter's shell, sorted by name: what tasks get unless anybody says
  // otherwise.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<StepSpec> steps;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Whether a path is relative and has no `..`.
bool stays_inside(std::string_view dir);

// Whether two specifications that may be absent say the same.
bool same_spec(const JobSpec* a, const JobSpec* b);

// Limits of a specification (model/check_spec.h). Of a new job alone: those of the second group.
inline constexpr std::int64_t kTasksPerStepMax = 100'000'000;
inline constexpr std::size_t kStepsMax = 1'000;
inline constexpr std::int32_t kRanksPerTaskMax = 100'000;
inline constexpr std::size_t kParametersMax = 256;
inline constexpr std::size_t kScriptBytesMax = 1 << 20;
inline constexpr std::size_t kNameBytesMax = 255;
inline constexpr std::size_t kPathBytesMax = 4'095;
inline constexpr std::size_t kEnvironmentMax = 10'000;  // Variables of one step.
inline constexpr std::size_t kVolumesMax = 64;          // Of one step.
inline constexpr std::size_t kExitCodesMax = 256;
inline constexpr std::int32_t kExitCodeMax = 255;

inline constexpr std::int64_t kPriorityMax = 1'000'000;  // And its negative.
inline constexpr std::int64_t kRetriesMax = 10'000;
inline constexpr std::int64_t kRangeEndMax = std::int64_t{1} << 61;  // And its negative.
inline constexpr Bytes kMemoryAskedMin = Bytes::mebi(1);
inline constexpr Bytes kLogMin = Bytes::kibi(64);
inline constexpr Duration kCheckpointEveryMin = Duration::seconds(1);
inline constexpr Duration kDurationMax = Duration::hours(24 * 36'500);

}  // namespace runnel::model
