#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/event.h"
#include "model/health.h"
#include "model/node.h"
#include "model/quarantine.h"
#include "model/report.h"
#include "model/spec.h"

namespace runnel::model {

// A new job. The id was made by the caller (time-ordered), so that deciding stays pure.
struct Submit {
  static constexpr std::string_view kType = "submit";
  JobId job;
  ProjectId project = ProjectId("default");
  QueueId queue = QueueId("default");
  std::string owner;            // The user who asked, by name.
  std::string idempotency_key;  // Empty: none.
  std::string body_hash;        // The request's, to tell a repeat from another body.
  std::shared_ptr<const JobSpec> spec;
  std::string actor;  // The asker, and owner of the key.
  // By what the specifications say, not by where they are.
  friend bool operator==(const Submit&, const Submit&);
};

// The field of the refusal to resume a job of which attempts are still ending after its halt.
inline constexpr std::string_view kEndingAttempts = "attempts";

// A user's request about one job.
struct JobRequest {
  static constexpr std::string_view kType = "request";
  enum class Verb : std::uint8_t { kCancel, kHalt, kResume, kRetry, kDelete };
  Verb verb = Verb::kCancel;
  JobId job;
  std::string actor;
  std::string record;  // The archive's record of the job, where that has left the state.
  friend bool operator==(const JobRequest&, const JobRequest&) = default;
};

// Somebody outside asks a search for a trial, or speaks of one that they were given. Only of steps
// whose trials are run outside: StepSpec::is_external().
struct TrialCall {
  static constexpr std::string_view kType = "trial.call";
  enum class Verb : std::uint8_t {
    kAsk,     // For the next trial.
    kReport,  // A value on the way; also says that the asker is still there.
    kTell,    // What came of it.
  };
  Verb verb = Verb::kAsk;
  JobId job;
  StepIndex step;
  Duration lease;         // kAsk: an asker silent for longer is lost. kLeaseMin to kLeaseMax.
  std::string holder;     // kAsk: who asks again with the same word gets what it holds.
  TaskIndex trial;        // kReport, kTell: as it was given,
  AttemptNumber attempt;  //                 with its attempt.
  std::int64_t at = 0;    // kReport: the step of the training, at least 0.
  std::vector<std::string> values;     // kReport, kTell: one per objective, or none.
  TrialEnd end = TrialEnd::kComplete;  // kTell.
  std::string message;                 // kTell, kFailed: why.
  std::string actor;
  friend bool operator==(const TrialCall&, const TrialCall&) = default;
};
inline constexpr Duration kLeaseMin = Duration::seconds(1);
inline constexpr Duration kLeaseMax = Duration::hours(24 * 7);
inline constexpr Duration kLeaseDefault = Duration::minutes(10);

// A node is there, with this incarnation of its runner and everything it runs or holds an exit
// record of (also records that an earlier incarnation left). Attempts that state has on an older
// incarnation and that `ranks` does not mention are lost.
struct NodeJoin {
  static constexpr std::string_view kType = "node.join";
  NodeInfo node;
  Incarnation incarnation;
  std::vector<RankReport> ranks;
  std::vector<MetricReport> metrics;
  bool crashed_idle = false;  // The life before ended in a crash of the runner while nothing ran.
  std::vector<LostRanks> beside;             // The runner's other nodes: a crash is told whole.
  std::optional<DeviceReport> devices = {};  // Nothing when nobody has looked yet.
  std::vector<HealthReport> health = {};     // Told before, perhaps in vain.
  friend bool operator==(const NodeJoin&, const NodeJoin&) = default;
};

// A node's lease is over, its runner died, or it said good-bye.
struct NodeLost {
  static constexpr std::string_view kType = "node.lost";
  NodeId node;
  Incarnation incarnation;
  std::string reason;  // CamelCase: HeartbeatLost, Shutdown, Left.
  friend bool operator==(const NodeLost&, const NodeLost&) = default;
};

// A node will be taken away: a cloud wants its spot capacity back. Its attempts are asked to save
// and end, and it gets no more.
struct NodeNotice {
  static constexpr std::string_view kType = "node.notice";
  NodeId node;
  Incarnation incarnation;
  Time leaves_at;      // From then on it counts as gone.
  std::string reason;  // CamelCase: Preempted.
  friend bool operator==(const NodeNotice&, const NodeNotice&) = default;
};

// What a node observed since its last report. Metrics and what ailed a rank come before its end.
struct NodeReport {
  static constexpr std::string_view kType = "node.report";
  NodeId node;
  Incarnation incarnation;
  std::vector<RankReport> ranks;
  std::vector<MetricReport> metrics;
  std::vector<HealthReport> health;
  std::optional<DeviceReport> devices = {};  // Comes before the ends of what had one.
  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

// The control is back from the log: whoever spoke meanwhile could not be heard.
struct Recovered {
  static constexpr std::string_view kType = "recovered";
  friend bool operator==(const Recovered&, const Recovered&) = default;
};

// The nodes that serve from now on, as their declaration says: who is not among them has left, and
// the others are so before any of them has joined.
struct NodesDeclared {
  static constexpr std::string_view kType = "nodes.declared";
  std::vector<NodeInfo> nodes;
  friend bool operator==(const NodesDeclared&, const NodesDeclared&) = default;
};

// Time passed: whatever waited for `now` may go on.
struct Wake {
  static constexpr std::string_view kType = "wake";
  friend bool operator==(const Wake&, const Wake&) = default;
};

using Input = std::variant<Submit, JobRequest, NodeJoin, NodeLost, NodeReport, Wake, NodeNotice,
                           TrialCall, Recovered, NodesDeclared>;

// "cancel", "halt": the last word of an action's path.
std::string_view to_string(JobRequest::Verb verb);
Result<JobRequest::Verb> parse_verb(std::string_view word);
// "ask", "report", "tell".
std::string_view to_string(TrialCall::Verb verb);
Result<TrialCall::Verb> parse_trial_verb(std::string_view word);

// "submit", "node.report": the `type` of an input's document.
std::string_view type_of(const Input& input);

}  // namespace runnel::model
