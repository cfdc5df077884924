#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/stop_token.h"
#include "base/units.h"

namespace runnel::object {

struct Object {
  std::string bytes;
  std::string etag;  // Opaque: equal for equal objects of one key, as far as the store tells.
};

// The bytes of a put. Shared, since a put may be repeated, and a late one may outlive its call.
using Body = std::shared_ptr<const std::string>;
inline Body make_body(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

// What must hold of a key for a put to happen.
struct Condition {
  enum class Kind : std::uint8_t { kNone, kAbsent, kMatches };

  Kind kind = Kind::kNone;
  std::string etag;  // With kMatches.

  static Condition none() { return {}; }
  static Condition absent() { return {.kind = Kind::kAbsent, .etag = {}}; }
  static Condition matches(std::string etag) {
    return {.kind = Kind::kMatches, .etag = std::move(etag)};
  }
};

struct Listed {
  std::string key;
  std::int64_t size = 0;  // Bytes.
  // Another one once the object was replaced: a bucket's ETag without its quotes, a file's inode,
  // size and time, as is_stamp() has it. Empty where the store tells none.
  std::string stamp;
  Time changed;  // Of its last put; 0 where the store does not tell.
};

struct ListPage {
  std::vector<Listed> objects;      // In byte order of their keys.
  std::optional<std::string> more;  // The `after` of the next page; none at the end.
};

// A place that keeps objects under keys: a folder, a bucket. docs/design/object.md.
//
// Contract: a put is whole or not at all, and who reads after it has returned gets it. kAbsent and
//           kMatches are atomic among all users of the store. Of a put that ends with kUnavailable,
//           kTimeout or kCancelled nobody knows whether it happened, or will; every other error
//           says that it did not. Errors name the store and the key.
// Threads:  the loop's only.
// Lifetime: a call ends before the store is destroyed, and what `into` refers to outlives the call,
//           which lets go of it before it returns, stopped or not.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // The whole object. kNotFound; kInvalid when it has more than `limit` bytes.
  virtual Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) = 0;
  // Fills `into`, which is not empty, with the bytes from `offset` on, of the object that a list
  // gave the stamp of; "": of whichever has the key. kPrecondition when another one has it by now,
  // kCorrupt when the object ends before.
  virtual Async<void> read(std::string key, std::string stamp, std::int64_t offset,
                           std::span<char> into, async::StopToken stop) = 0;
  // The ETag of what was put. kPrecondition when the condition does not hold, kConflict when
  // another put under a condition was under way: then the same call may be made again.
  virtual Async<std::string> put(std::string key, Body bytes, Condition condition,
                                 async::StopToken stop) = 0;
  // Fine when there is none.
  virtual Async<void> remove(std::string key, async::StopToken stop) = 0;
  // A page of the keys that begin with `prefix` and come after `after`; "" is before all of them.
  virtual Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) = 0;

  // The store as messages call it: "s3://bucket/prefix".
  virtual const std::string& name() const = 0;
};

inline constexpr std::size_t kListPageMax = 1'000;

}  // namespace runnel::object
