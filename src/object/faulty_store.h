#pragma once

#include <cstdint>

#include "async/event_loop.h"
#include "async/gate.h"
#include "base/split_mix.h"
#include "base/units.h"
#include "object/forwarding_store.h"

namespace runnel::object {

// How often, of 1,000 requests, and how long.
struct StoreFaults {
  int lost_before = 0;  // Never arrives; kUnavailable.
  int lost_after = 0;   // Has its effect; kUnavailable all the same.
  int late = 0;         // kTimeout; a put or removal has its effect up to `late_max` later.
  int doubled = 0;      // A put or removal has its effect again up to `late_max` later.
  int congested = 0;    // Refused with kFull.
  int contended = 0;    // A put under a condition is refused with kConflict.
  int flipped = 0;      // One bit of what is read is wrong.
  Duration latency_max;
  Duration late_max = Duration::seconds(30);
};

// Another store behind a network that loses, delays and repeats requests, by the dice of a seed.
//
// Contract: stop() is awaited before destruction; what is late until then happens never.
// Threads:  the loop's only.
class FaultyStore final : public ForwardingStore {
 public:
  FaultyStore(async::EventLoop& loop, ObjectStore& inner, StoreFaults faults, std::uint64_t seed);

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override;
  Async<void> stop() { return gate_.close(); }

  void set(const StoreFaults& faults) { faults_ = faults; }

 private:
  enum class Fate : std::uint8_t { kDone, kLostBefore, kLostAfter, kLate, kDoubled };

  bool chance(int of_thousand);
  Duration wait_of(Duration most);
  // After the request's latency. An error when the store refuses it.
  Async<Fate> arrive(Condition::Kind condition, async::StopToken stop);
  void flip(std::span<char> bytes);
  Async<void> put_later(std::string key, Body bytes, Condition condition);
  Async<void> remove_later(std::string key);

  async::EventLoop& loop_;
  StoreFaults faults_;
  SplitMix64 dice_;
  async::Gate gate_;
};

}  // namespace runnel::object
