#include "volume/linked_object.h"

#include <algorithm>

#include "base/binary.h"

namespace runnel::volume {

hash::Digest linked_hash(const LinkedObject& object) {
  std::string text = "runnel object 1\n";
  Encoder(text).text(object.store).text(object.key).text(object.stamp);
  return hash::sha256(text);
}

ObjectId linked_id(const LinkedObject& object) {
  const hash::Digest digest = linked_hash(object);
  ObjectId id;
  std::copy_n(digest.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

}  // namespace runnel::volume
