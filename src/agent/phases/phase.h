#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/suspect_mounts.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/order.h"
#include "model/report.h"
#include "output/metric_plan.h"

namespace runnel::agent {

// What phases have made ready of an attempt so far.
struct Readiness {
  std::vector<std::pair<std::string, std::string>> secrets;  // Variables, stronger than any other.
  std::vector<std::pair<std::string, std::string>> volumes;  // Variables that name their folders.
  // The same of one rank, by its number.
  std::map<std::int32_t, std::vector<std::pair<std::string, std::string>>> of_rank;
  model::VolumeVersions published;  // What its preparation has published.
  output::MetricPlanPtr plan;       // The places where a task reports besides its file, if any.
  std::int64_t output_from = 0;  // The record of the job's log index that its output comes after.
};

// The place that a phase works in. Attempts that name the same folder pass it one after another.
struct Workplace {
  std::string folder;
  Reach reach = Reach::kBelow;
  std::string group = {};  // What else it waits for, with other folders: a store. Empty: nothing.
};

// One part of making an attempt ready: its secrets, its checkpoint, ...
//
// Contract: prepare() may be called again after a kill at any moment, and finds or replaces what it
//           left. undo() takes back what prepare() made or half made of an attempt that will not
//           begin or has ended, in this life or an earlier one, and may be called again. Both CHECK
//           that the order calls for the phase.
// Threads:  prepare(), finish(), undo(), likely_cause() and sweep() block, on a thread that is left
//           alone when it stands still for too long: so a phase holds nothing that changes. All
//           else is called on the loop.
// Why:      what an attempt needs differs and grows; each part has one place for how it is made and
//           tried again, and none can block the loop.
class Phase {
 public:
  // What prepare() makes outside of Readiness, and when it is to be taken back.
  enum class Parts : std::uint8_t {
    kNone,
    kUntilBegun,  // When the attempt does not begin; afterwards they are the task's own.
    kUntilEnded,  // When the attempt does not begin, or has ended.
  };
  struct Traits {
    std::string_view thread;   // Name of its threads in ps and debuggers; at most 15 bytes.
    Duration silent_max;       // Standing still for so long, it is given up.
    bool is_optional = false;  // Given up, it is left out; else the attempt has failed.
    Parts parts = Parts::kNone;
    // Its work is done by other processes, so that attempts in different workplaces need not wait
    // for each other.
    bool waits_for_others = false;
  };

  virtual ~Phase() = default;
  virtual Traits traits() const = 0;
  // Whether the order calls for it. Touches no file.
  virtual bool is_needed(const model::StartOrder& order) const = 0;
  // The order as several, each of which is passed, and taken back, in a workplace of its own.
  virtual std::vector<model::StartOrder> split(const model::StartOrder& order) const {
    return {order};
  }
  virtual Workplace workplace(const model::StartOrder& order) const = 0;
  // What an attempt that is in it waits for: "volume data@0123456789abcdef of s3://bucket".
  virtual std::string waits_for(const model::StartOrder& order) const = 0;
  // `trail` is told of each place besides the workplace before it is touched.
  virtual Result<Readiness> prepare(const NodeId& node, const model::StartOrder& order,
                                    Readiness so_far, PathTrail& trail) const = 0;
  // Whether something is left to be done between the end of a rank's process and the word of it.
  virtual bool finishes() const { return false; }
  // Does so for the ranks of the order, as split() makes them, and may be called again after a kill
  // at any moment: whether it is done. Else, or after an error, it is called again a little later;
  // kInvalid: never.
  virtual Result<bool> finish(const NodeId&, const model::StartOrder&, PathTrail&) const {
    return true;
  }
  virtual Result<void> undo(const NodeId&, const model::StartOrder&, PathTrail&) const {
    return {};
  }
  // What an attempt that began then, and has failed, may have failed by: a sentence; empty: nothing
  // is known.
  virtual std::string likely_cause(const model::StartOrder&, Time) const { return {}; }
  // Where parts may lie of which no record is left; none: there are none.
  virtual std::optional<std::string> swept_folder() const { return std::nullopt; }
  // Takes away those that nobody uses. Called now and then.
  virtual Result<void> sweep(PathTrail&) const { return {}; }
  // After how long prepare() is tried again that failed so for the `tries`-th time; none: the
  // attempt has failed.
  virtual std::optional<Duration> again(const Error&, int) const { return std::nullopt; }
};

}  // namespace runnel::agent
