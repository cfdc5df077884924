#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "model/health.h"
#include "model/node.h"
#include "model/quarantine.h"
#include "model/report.h"

namespace runnel::node {

// The place of a message among all that its node sent: grows by one with each of them.
using UpSequence = NamedInt<struct UpSequenceTag>;

// Where a message from a node stands.
struct Stamp {
  UpSequence up;
  Incarnation incarnation;
  // The newest orders that the node had taken when it wrote the message.
  Epoch epoch;
  std::int64_t taken = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// What became of ranks since the node told last: telling more does no harm.
struct News {
  std::vector<model::RankReport> ranks;
  std::vector<model::MetricReport> metrics;
  std::vector<model::HealthReport> health;
  std::optional<model::DeviceReport> devices = {};  // The newest look at all of them.
  friend bool operator==(const News&, const News&) = default;
};

// All that the node runs, will run, or holds an exit record of: what it can join by. A large one
// comes in several messages, its parts first and right one after the other.
struct Inventory {
  model::NodeInfo node;
  News has;
  bool crashed_idle = false;  // The life before ended in a crash of the runner while nothing ran.
  std::vector<model::LostRanks> beside;  // The runner's other nodes: a crash is told whole.
  std::int64_t parts = 0;                // Messages right before it that are parts of it.
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

struct InventoryPart {
  News has;
  std::vector<model::LostRanks> beside;
  friend bool operator==(const InventoryPart&, const InventoryPart&) = default;
};

struct Report {
  News news;
  friend bool operator==(const Report&, const Report&) = default;
};

// Nothing new, and the node is there: what keeps its lease, and shows that no message was lost.
struct Beat {
  friend bool operator==(const Beat&, const Beat&) = default;
};

// The node goes away by itself.
struct GoodBye {
  News last;
  friend bool operator==(const GoodBye&, const GoodBye&) = default;
};

// A message from a node to control.
struct Up {
  NodeId node;
  Stamp stamp;
  std::variant<Inventory, Report, GoodBye, Beat, InventoryPart> what;
  friend bool operator==(const Up&, const Up&) = default;
};

// The news of a message, besides that the node is there; a beat has none.
const News& news_of(const Up& message);

}  // namespace runnel::node
