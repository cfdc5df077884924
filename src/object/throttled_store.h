#pragma once

#include <cstdint>

#include "async/event_loop.h"
#include "env/clock.h"
#include "object/forwarding_store.h"

namespace runnel::object {

// Another store behind a link of so many bytes a second, both ways together.
//
// Threads:  the loop's only.
// Lifetime: loop, clock and `inner` outlive it.
class ThrottledStore final : public ForwardingStore {
 public:
  ThrottledStore(async::EventLoop& loop, env::Clock& clock, ObjectStore& inner, Bytes per_second);

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;

 private:
  // Returns once the link has carried so many bytes more.
  Async<void> carry(std::int64_t bytes, async::StopToken stop);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const std::int64_t per_second_;
  Micros free_at_;  // Since boot: when the link has carried what it was given.
};

}  // namespace runnel::object
