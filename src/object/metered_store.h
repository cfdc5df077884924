#pragma once

#include <cstdint>
#include <string>

#include "env/clock.h"
#include "object/forwarding_store.h"

namespace runnel::object {

// What one kind of request came to.
struct RequestMeter {
  std::int64_t requests = 0;
  std::int64_t errors = 0;  // kNotFound and kPrecondition are answers and no errors.
  std::int64_t bytes = 0;   // Of objects, as far as they were moved whole.
  Duration time;            // From call to answer, summed.
};

struct StoreMeter {
  RequestMeter get;
  RequestMeter read;
  RequestMeter put;
  RequestMeter remove;
  RequestMeter list;

  std::int64_t requests() const {
    return get.requests + read.requests + put.requests + remove.requests + list.requests;
  }
};

// Counts the requests to another store.
class MeteredStore final : public ForwardingStore {
 public:
  MeteredStore(ObjectStore& inner, env::Clock& clock) : ForwardingStore(inner), clock_(clock) {}

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override;

  const StoreMeter& meter() const { return meter_; }

 private:
  template <typename T>
  Async<T> measured(RequestMeter& meter, Async<T> call);

  env::Clock& clock_;
  StoreMeter meter_;
};

}  // namespace runnel::object
