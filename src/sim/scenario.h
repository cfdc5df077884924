#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "brain/state.h"
#include "model/input.h"
#include "model/node.h"
#include "model/spec.h"

namespace runnel::sim {

// What can go wrong. Each kind strikes at its moment and, where it lasts, ends by itself.
enum class FaultKind : std::uint8_t {
  kControlCrash,   // kill -9 of the daemon; it comes back after `lasts`.
  kControlFreeze,  // SIGSTOP of the daemon for `lasts`: clients and nodes wait or give up.
  kTornTail,       // kill -9 in the middle of a commit, of which all is durable or nothing.
  kDiskFull,       // No append succeeds for `lasts`.
  kDiskFails,      // An append fails, and the log cannot be opened anew for `lasts`.
  kDiskSlow,       // What the log is asked takes up to 2 s, for `lasts`.
  kRunnerKill,   // kill -9 of a node's runner: exit records written before survive, processes die.
  kNodeReboot,   // The node loses everything and is back after `lasts`.
  kNodeFreeze,   // The node answers nothing for `lasts`; its processes go on.
  kPartition,    // No message to or from the node for `lasts`.
  kStorm,        // Messages to and from all nodes are lost, doubled and delayed for `lasts`.
  kLyingNode,    // The node reports things about attempts it does not have.
  kPreemption,   // The node says good-bye and is gone for `lasts`.
  kClientCrash,  // A client dies between asking and hearing the answer, and asks again.
  kClockJump,    // The daemon's wall clock jumps back or forth by up to an hour.
  kNodeRemoved,  // The node is gone for good: the home's file lacks it when the daemon comes back.
  kNodeLost,  // The node is gone for good, and nobody says so; half of the time control dies, too.
  kNodeResized,  // The node is another size when the daemon comes back; what runs there goes on.
  kNodeDrained,  // The node takes nothing new, or no work with devices, when the daemon comes back,
                 // or does again; what runs there goes on.
  kHungRank,     // Ranks on the node that run or begin in this time hang, for good where the policy
                 // ends them; only in steps that look for it, as the next two.
  kNotFinite,    // Ranks on the node report NaN.
  kSlowRank,     // Ranks on the node lag behind those of their gang.
  kDeviceLost,   // A device of the node vanishes for `lasts`; only where most ask for devices.
};
inline constexpr int kFaultKinds = 23;
inline constexpr int kCommonFaultKinds = 19;  // What may strike any schedule.
std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kControlCrash;
  Time at;
  Duration lasts;
  std::size_t node = 0;  // The one that it strikes, where that matters.
};

// One thing a user does.
struct Wish {
  Time at;
  std::size_t job = 0;  // An index into the scenario's jobs.
  bool submit = false;  // Else `verb` on the job.
  model::JobRequest::Verb verb = model::JobRequest::Verb::kCancel;
  bool once = false;  // Whoever asks does not ask again, whatever the answer.
};

// Everything a run rests on: nothing else is drawn from chance but what `seed` streams give.
struct Scenario {
  std::uint64_t seed = 0;
  std::vector<model::NodeInfo> nodes;
  std::vector<std::shared_ptr<const model::JobSpec>> jobs;
  std::vector<Wish> wishes;
  std::vector<Fault> faults;
  brain::Limits limits;
  // Whether a task of its kills the runner of its node.
  bool poisoned() const;
  Time faults_end;  // After this nothing goes wrong any more, so everything must come to its end.
};

inline constexpr std::size_t kNodesMin = 8;
inline constexpr std::int64_t kTasksMin = 40;
inline constexpr std::size_t kFaultsMin = 5;
inline constexpr std::size_t kFaultKindsMin = 3;

// At least kNodesMin nodes, kTasksMin tasks and kFaultsMin faults of kFaultKindsMin kinds.
Scenario scenario_of(std::uint64_t seed);
// Somebody who kills the runner of one node, or of each, every few hundred milliseconds for a
// while, whatever runs there.
void add_hand(Scenario& scenario);

// One line per fault and wish: what a person reads to see what happened.
std::string describe(const Scenario& scenario);

}  // namespace runnel::sim
