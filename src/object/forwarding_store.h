#pragma once

#include <string>
#include <utility>

#include "object/object_store.h"

namespace runnel::object {

// A store that hands every call on to another one: what a decorator leaves as it is.
//
// Lifetime: `inner` outlives it.
class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(ObjectStore& inner) : inner_(inner) {}

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override {
    return inner_.get(std::move(key), limit, std::move(stop));
  }
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    return inner_.read(std::move(key), std::move(stamp), offset, into, std::move(stop));
  }
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override {
    return inner_.put(std::move(key), std::move(bytes), std::move(condition), std::move(stop));
  }
  Async<void> remove(std::string key, async::StopToken stop) override {
    return inner_.remove(std::move(key), std::move(stop));
  }
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override {
    return inner_.list(std::move(prefix), std::move(after), std::move(stop));
  }
  const std::string& name() const override { return inner_.name(); }

 protected:
  ObjectStore& inner() { return inner_; }

 private:
  ObjectStore& inner_;
};

}  // namespace runnel::object
