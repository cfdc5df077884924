#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/device_look.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/node.h"
#include "model/quarantine.h"

namespace runnel::agent {

// A device that was seen, and which of a node's devices it is.
struct KnownDevice {
  std::string id;
  std::int64_t index = 0;
  std::string kind;
  NodeId node;
  friend bool operator==(const KnownDevice&, const KnownDevice&) = default;
};

// Which of the devices that nodes of this machine declare are there: docs/design/devices.md.
//
// Contract: a device keeps its index for as long as the census is kept, whatever its driver counts;
//           a new one takes the index of none or of one that is missing. Only a device that was
//           seen once can be missing. Of a kind that several nodes declare none is, nor of one
//           whose name no device has in its own. A node that withholds its devices declares the
//           kinds that no other node does: where one does, those in use are still that one's.
// Threads:  none of its own; no clock, no I/O.
class DeviceCensus {
 public:
  explicit DeviceCensus(const std::vector<model::NodeInfo>& nodes);

  // Whether a look has anything to tell.
  bool looks() const { return !wanted_.empty(); }
  // Whether a device that is missing can be noticed.
  bool watches() const;
  // As an earlier life kept it. Whatever is no more declared is dropped.
  void remember(std::vector<KnownDevice> known);
  const std::vector<KnownDevice>& known() const { return known_; }

  // Whether what is known has changed.
  bool take(const DeviceLook& look, Time now);
  // The report of a node of which devices are known; nothing before the first look.
  std::optional<model::DeviceReport> report(const NodeId& node) const;
  // Differences between declaration and machine, and what is not granted: sentences.
  std::vector<std::string> notices() const;

 private:
  struct Wanted {
    NodeId node;
    std::string kind;
    std::int64_t count = 0;          // The most that one of the nodes declares.
    std::vector<NodeId> nodes = {};  // That declare it; with several nobody watches.
    bool is_shared() const { return nodes.size() > 1; }
  };
  void declare(const NodeId& node, const std::string& kind, std::int64_t count);
  const Wanted* wanted_by(const SeenDevice& seen, DeviceLook::By by) const;
  bool add(const Wanted& wanted, const SeenDevice& seen);
  void miss(const DeviceLook& look, Time now);
  bool meet(const SeenDevice& seen, DeviceLook::By by);
  std::int64_t seen_of(const Wanted& wanted) const;
  void compare(const Wanted& wanted);

  std::vector<Wanted> wanted_;                       // One for each kind.
  std::map<std::string, std::int64_t> shared_seen_;  // In the last look, by kind.
  std::vector<KnownDevice> known_;
  std::map<std::string, model::MissingDevice> missing_;  // By id.
  std::vector<std::string> notices_;
  bool looked_ = false;
};

std::string census_text(const std::vector<KnownDevice>& known);
Result<std::vector<KnownDevice>> parse_census(std::string_view text);

}  // namespace runnel::agent
