#include "model/holding.h"

#include <utility>

namespace runnel::model {

const std::vector<Place>& places_of(const Holding& holding) {
  static const std::vector<Place> kNone;
  const auto* places = std::get_if<Places>(&holding);
  return places == nullptr ? kNone : places->all;
}

StoredHolding stored(const Holding& holding) {
  if (const auto* lease = std::get_if<Lease>(&holding)) return {{}, lease->length, lease->holder};
  return {std::get<Places>(holding).all, {}, {}};
}

Holding restored(StoredHolding stored) {
  if (stored.places.empty()) return Lease{stored.lease, std::move(stored.holder)};
  return Places{std::move(stored.places)};
}

}  // namespace runnel::model
