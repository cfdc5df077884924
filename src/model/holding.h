#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/devices.h"

// What a lane holds: docs/design/kinds.md.
namespace runnel::model {

// One place of a lane: `ranks` processes on `node`. The devices are shared evenly by the gang's
// places there; a lane from before devices were granted by index has none.
struct Place {
  NodeId node;
  std::int32_t ranks = 1;
  Devices devices = {};
  friend bool operator==(const Place&, const Place&) = default;
};

// Room on nodes, which run the lane's tasks.
struct Places {
  std::vector<Place> all;
  friend bool operator==(const Places&, const Places&) = default;
};

// A trial that somebody runs elsewhere.
struct Lease {
  Duration length;     // How long its holder may be silent.
  std::string holder;  // Its word for itself, by which it may ask again; empty: none.
  friend bool operator==(const Lease&, const Lease&) = default;
};

using Holding = std::variant<Places, Lease>;

// None of a lease.
const std::vector<Place>& places_of(const Holding& holding);

// The three members by which a holding is stored: what has no places is a lease.
struct StoredHolding {
  std::vector<Place> places;
  Duration lease;
  std::string holder;
};
StoredHolding stored(const Holding& holding);
Holding restored(StoredHolding stored);

}  // namespace runnel::model
