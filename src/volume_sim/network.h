#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "async/event_loop.h"
#include "base/agenda.h"
#include "base/split_mix.h"
#include "volume_sim/bucket.h"

namespace runnel::volume_sim {

// How often, of 1,000 requests.
struct Faults {
  int lost = 0;       // Never arrives.
  int unheard = 0;    // Has its effect; the answer is lost.
  int late = 0;       // The client gives up; a put or removal arrives up to `late_max` later.
  int doubled = 0;    // A put or removal arrives again up to `late_max` later.
  int congested = 0;  // Refused: too many requests.
  int contended = 0;  // A put under a condition is refused: another one is under way.
  int unlisted = 0;   // A list is refused, as by a policy.
  Duration late_max = Duration::seconds(200);
};

// One process's way to the bucket. What is late or doubled arrives whatever has become of the
// process.
//
// Threads:  one.
// Lifetime: agenda and bucket outlive it; `faults` is looked at anew by each request.
class Network final : public object::ObjectStore {
 public:
  Network(Agenda& agenda, async::EventLoop& loop, std::shared_ptr<Bucket> bucket,
          const Faults& faults, std::uint64_t process, std::uint64_t seed);

  Async<object::Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<object::ListPage> list(std::string prefix, std::string after,
                               async::StopToken stop) override;
  const std::string& name() const override { return name_; }

  // The process is dead: from here on its requests have no effect.
  void cut() { is_cut_ = true; }
  // Nothing arrives while the store is away for it.
  void set_away(bool is_away) { is_away_ = is_away; }

 private:
  enum class Fate : std::uint8_t { kDone, kLost, kUnheard, kLate, kDoubled };
  bool chance(int of_thousand);
  Duration up_to(Duration most);
  Async<Fate> travel(async::StopToken stop);
  // The way back: the answer, unless it is lost.
  template <typename T>
  Async<T> answer(Fate fate, Result<T> result, async::StopToken stop);

  Agenda& agenda_;
  async::EventLoop& loop_;
  std::shared_ptr<Bucket> bucket_;
  const Faults& faults_;
  const std::uint64_t process_;
  SplitMix64 dice_;
  const Duration one_way_;
  bool is_cut_ = false;
  bool is_away_ = false;
  const std::string name_ = "bucket";
};

}  // namespace runnel::volume_sim
