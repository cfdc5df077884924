#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/gate.h"
#include "async/virtual/process.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/retry_store.h"
#include "volume/volume.h"
#include "volume_sim/machines.h"
#include "volume_sim/network.h"

namespace runnel::volume_sim {

// Numbers by a seed, for names and jitter.
class SeededRandom final : public env::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : numbers_(seed) {}
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_;
};

// A machine's clock, whose time of day may be wrong, and be put right or wrong at any moment.
class SkewedClock final : public env::Clock {
 public:
  SkewedClock(const Agenda& agenda, Duration skew)
      : agenda_(agenda), booted_(agenda.now()), skew_(skew) {}
  Time wall() const override { return agenda_.now() + skew_; }
  Duration boot() const override { return agenda_.now() - booted_; }
  void set(Duration skew) { skew_ = skew; }

 private:
  const Agenda& agenda_;
  const Time booted_;
  Duration skew_;
};

// One process of the simulation: a put, a reader, a gc, by its own loop, clock and network.
//
// Threads:  one.
// Lifetime: what its site names outlives it; it has ended, or was killed, before destruction.
class Process {
 public:
  struct Site {
    Agenda& agenda;
    Machines& machines;
    std::shared_ptr<Bucket> bucket;
    const Faults& faults;
    std::string machine;
    Duration skew;  // Of the machine's time of day.
  };
  // `volumes`: names, of which it works on the first.
  Process(Site site, std::vector<std::string> volumes, std::uint64_t number, std::uint64_t seed);
  std::uint64_t number() const { return number_; }
  const std::string& volume() const { return volume_; }
  const std::vector<std::string>& others() const { return others_; }

  async::EventLoop& loop() { return loop_; }
  SkewedClock& clock() { return clock_; }
  SplitMix64& dice() { return dice_; }
  volume::VolumeContext context() { return {retries_, clock_, random_, {}, nullptr, seen_}; }

  void start(Async<void> work);
  bool has_ended() const { return has_ended_; }
  void kill();
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  Network& network() { return network_; }

 private:
  Async<void> run(Async<void> work);

  Machines& machines_;
  const std::uint64_t number_;
  const std::string volume_;
  const std::vector<std::string> others_;
  async::VirtualProcess* process_;  // The loop's.
  async::EventLoop loop_;
  SkewedClock clock_;
  SeededRandom random_;
  SplitMix64 dice_;
  SeenProcesses seen_;
  Network network_;
  object::RetryStore retries_;
  async::Gate gate_;
  bool has_ended_ = false;
};

}  // namespace runnel::volume_sim
