#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/resources.h"

namespace runnel::model {

// Why a node is down that was taken away for a while, and comes back by itself.
inline constexpr std::string_view kPreemptedReason = "Preempted";

// Why a node is down that is not among the nodes of the home any more.
inline constexpr std::string_view kLeftReason = "Left";

// What a node says of itself when it joins.
struct NodeInfo {
  NodeId id;
  std::string pool = "local";
  std::string address = "127.0.0.1";
  Resources capacity;
  bool colocate = false;  // Several places of one gang may share this node.
  bool spot = false;      // May be taken away at short notice.
  bool draining = false;  // Takes nothing new; what runs there goes on.
  // Grants none of its devices for now: tasks of another node, or of what it was before, have them.
  bool withholds_devices = false;
  // Nodes that name the same share one: what ends it ends them all. Empty: it has its own.
  std::string runner;
  std::string instance;              // The rented type it is, or is priced as; may be empty.
  Money price;                       // Per hour, if it could not be taken.
  Money spot_price;                  // Per hour as spot; zero: the same.
  std::int32_t port_first = 20'000;  // Ports that gangs may be given, [first, last].
  std::int32_t port_last = 29'999;

  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

// Whether a node may say this of itself: kInvalid naming the field that cannot be.
Result<void> check_node(const NodeInfo& node);

inline constexpr std::size_t kNodesMax = 10'000;
inline constexpr Money kPriceMax = Money::dollars(1'000'000);  // An hour.

}  // namespace runnel::model
