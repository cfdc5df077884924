#include "volume_sim/bucket.h"

#include <utility>

#include "hash/xxh3.h"

namespace runnel::volume_sim {

const Bucket::Stored* Bucket::find(const std::string& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

Result<std::string> Bucket::put(std::uint64_t process, const std::string& key, object::Body bytes,
                                const object::Condition& condition) {
  using Kind = object::Condition::Kind;
  const Stored* const before = find(key);
  if (condition.kind == Kind::kAbsent && before != nullptr) {
    return Error(Errc::kPrecondition, "there is an object " + key).with_value(key);
  }
  if (condition.kind == Kind::kMatches && before == nullptr) {
    return Error(Errc::kNotFound, "there is no object " + key).with_value(key);
  }
  if (condition.kind == Kind::kMatches && before->etag != condition.etag) {
    return Error(Errc::kPrecondition, "the object " + key + " was replaced").with_value(key);
  }
  Stored after{std::move(bytes), "", agenda_.now()};
  after.etag = std::to_string(hash::xxh3(*after.bytes));
  if (watch_) watch_({key, before, &after, process});
  objects_[key] = after;
  return std::move(after.etag);
}

void Bucket::remove(std::uint64_t process, const std::string& key) {
  const Stored* const before = find(key);
  if (before == nullptr) return;
  if (watch_) watch_({key, before, nullptr, process});
  objects_.erase(key);
}

}  // namespace runnel::volume_sim
