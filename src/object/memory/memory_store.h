#pragma once

#include <map>
#include <string>

#include "object/key.h"
#include "object/object_store.h"

namespace runnel::object {

// A store in memory, for tests and the simulator: every call has its effect at once, without a
// turn of the loop.
class MemoryStore final : public ObjectStore {
 public:
  explicit MemoryStore(std::string name = "memory", KeyRule rule = KeyRule::kEveryStore)
      : name_(std::move(name)), rule_(rule) {}

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override;
  const std::string& name() const override { return name_; }

  // What there is, for tests that look or damage.
  std::map<std::string, Object>& objects() { return objects_; }

 private:
  std::string name_;
  KeyRule rule_;
  std::map<std::string, Object> objects_;
  std::int64_t puts_ = 0;  // An ETag names a put, so that none comes back.
};

}  // namespace runnel::object
