#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hash/sha256.h"
#include "volume/object_id.h"

namespace runnel::volume {

// An object of a bucket that a file of a volume is, and that the volume does not have itself.
struct LinkedObject {
  static constexpr std::uint64_t kBytesMax =
      std::uint64_t{256} << 30;  // Its reader has a place of each MiB in memory.

  std::string store;  // The URL of its store.
  std::string key;
  std::string stamp;  // object::Listed::stamp

  friend bool operator==(const LinkedObject&, const LinkedObject&) = default;
};
using LinkedPtr = std::shared_ptr<const LinkedObject>;

// Of a file that is the object, since nobody has read its bytes.
hash::Digest linked_hash(const LinkedObject& object);
// What it is called in extents and caches.
ObjectId linked_id(const LinkedObject& object);

}  // namespace runnel::volume
