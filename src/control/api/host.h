#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/async.h"
#include "base/ids.h"
#include "base/units.h"
#include "control/api/silence.h"
#include "model/status.h"

namespace runnel::control {

// The account that a home belongs to.
struct Account {
  std::uint32_t uid = 0;
  std::string name;
};

// Tasks of a step that are placed and cannot begin yet, or be done.
struct SlowStart {
  JobId job;
  StepIndex step;
  std::string reason;
  Silence silence;  // Of what they wait for.
};

// Whether what has been placed of a job may begin: what is halted does not.
inline bool may_begin(model::Status status) {
  return !model::is_end(status) && status != model::Status::kPaused;
}

// What a home tells of itself.
struct HomeInfo {
  std::string home;  // Its folder.
  std::string socket;
  std::string version;
  std::int64_t daemon_pid = 0;
  std::int64_t runner_pid = 0;  // 0: not known now.
  std::optional<Silence> runner_silence;
  std::optional<Silence> nodes_problem;  // Why a changed nodes.yaml is not in force.
  std::vector<SlowStart> slow_starts;
  std::vector<std::string> notices;  // What was set right, or could not be; for a person.
};

// A node of the home is taken away as a cloud takes back spot capacity: `notice` to save and end,
// then it is gone for `away`.
struct Preemption {
  NodeId node;
  Duration notice;
  Duration away;
};

// What the composition root lends to the API.
struct ApiHost {
  std::function<HomeInfo()> info;
  // The room that the home's disk lacks, so that what is asked to start waits; kUnavailable when it
  // does not say so in time. After any other error nothing is known of the disk.
  std::function<Async<std::optional<Silence>>()> room;
  std::function<void()> stop;  // Begin to end the daemon, after the answer has left.
  std::function<Async<void>(Preemption)> preempt;  // Returns when the notice is durable.
  Account account;                                 // The home's owner.
};

}  // namespace runnel::control
