#include "volume/stored_ranges.h"

namespace runnel::volume {

const StoredRanges::Place* StoredRanges::place_of(const ObjectRange& wanted) const {
  return ranges_.last_until({wanted.object, wanted.offset}, kOverlapsMax,
                            [&wanted](const Place& place, const HeldBytes& held) {
                              const ObjectRange kept{place.first, place.second, held.bytes.size()};
                              return kept.covers(wanted);
                            });
}

bool StoredRanges::has(const ObjectRange& wanted) const { return place_of(wanted) != nullptr; }

std::optional<HeldBytes> StoredRanges::find(const ObjectRange& wanted) {
  const Place* const place = place_of(wanted);
  if (place == nullptr) return std::nullopt;
  const std::uint64_t begin = place->second;
  return ranges_.find(*place)->part(wanted.offset - begin, wanted.length);
}

void StoredRanges::keep(const ObjectId& object, std::uint64_t offset, HeldBytes bytes,
                        std::size_t taken) {
  const Place place(object, offset);
  const HeldBytes* const same = ranges_.peek(place);
  if (same != nullptr && same->bytes.size() >= bytes.bytes.size()) return;
  ranges_.keep(place, std::move(bytes), taken);
}

void StoredRanges::drop(const ObjectRange& wanted) {
  if (const Place* const place = place_of(wanted)) ranges_.drop(Place(*place));
}

}  // namespace runnel::volume
