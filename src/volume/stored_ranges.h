#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "volume/linked_object.h"
#include "volume/object_id.h"
#include "volume/recently_used.h"

namespace runnel::volume {

// A part of a pack, or of a linked object, by its bytes.
struct ObjectRange {
  ObjectId object;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  LinkedPtr linked = nullptr;  // What `object` is the id of; none: a pack.

  std::uint64_t end() const { return offset + length; }
  bool covers(const ObjectRange& other) const {
    return object == other.object && offset <= other.offset && other.end() <= end();
  }
  friend bool operator==(const ObjectRange& one, const ObjectRange& other) {
    return one.object == other.object && one.offset == other.offset && one.length == other.length;
  }
};

// Bytes that stay for as long as they are held.
struct HeldBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;

  static HeldBytes of(std::string text) {
    const auto owner = std::make_shared<const std::string>(std::move(text));
    return {owner, *owner};
  }
  HeldBytes part(std::size_t offset, std::size_t length) const {
    return {owner, bytes.substr(offset, length)};
  }
};

// Ranges of objects, as they are stored, of which the last used stay in memory.
//
// Threads:  none of its own.
// Lifetime: the budget outlives it.
// Limits:   the budget's, in bytes. Of ranges that overlap, one is found behind at most
//           kOverlapsMax that begin later.
class StoredRanges {
 public:
  static constexpr int kOverlapsMax = 16;

  explicit StoredRanges(MemoryBudget& budget) : ranges_(budget) {}

  // The bytes of a range, when one that is kept has all of them.
  std::optional<HeldBytes> find(const ObjectRange& wanted);
  bool has(const ObjectRange& wanted) const;
  // The bytes of `object` from `offset` on, which take so many of the budget.
  void keep(const ObjectId& object, std::uint64_t offset, HeldBytes bytes, std::size_t taken);
  void keep(const ObjectId& object, std::uint64_t offset, HeldBytes bytes) {
    const std::size_t taken = bytes.bytes.size();
    keep(object, offset, std::move(bytes), taken);
  }
  void drop(const ObjectRange& wanted);  // The range that has all of them.
  std::uint64_t bytes() const { return ranges_.size(); }

 private:
  using Place = std::pair<ObjectId, std::uint64_t>;

  const Place* place_of(const ObjectRange& wanted) const;

  RecentlyUsed<Place, HeldBytes> ranges_;
};

}  // namespace runnel::volume
