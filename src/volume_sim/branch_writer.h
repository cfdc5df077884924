#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "volume_sim/branch_truth.h"
#include "volume_sim/expected.h"
#include "volume_sim/oracle.h"
#include "volume_sim/process.h"
#include "writing/publisher.h"
#include "writing/testing/log_disk.h"

namespace runnel::volume_sim {

// Who writes a branch of a volume on one machine, in one process after another: it changes files,
// waits for the log, publishes, and goes on with what the process before has left.
//
// Threads:  one.
// Lifetime: the oracle outlives it; the process of a live() has ended before the next one's.
class BranchWriter {
 public:
  BranchWriter(SplitMix64& dice, Oracle& oracle)
      : dice_(dice), oracle_(oracle), truth_(dice.next()) {}

  // One life, of about so many changes; `to_the_end`: without faults, and with all published.
  enum class Ends : bool { kAnyhow, kPublished };
  Async<void> live(Process& process, Ends ends);
  // Its process is killed, now: nothing comes to the disk any more.
  void kill(BranchTruth::Loss loss);
  // To be called after each step of the simulation. Whether the process was killed at a write to
  // its disk: the rest of it is to be.
  bool look();

  writing::testing::LogDisk& disk() { return disk_; }
  std::int64_t changes() const { return truth_.changes(); }
  std::int64_t lost() const { return truth_.lost(); }
  std::int64_t published() const { return published_; }
  std::int64_t failures() const { return failures_; }

 private:
  // What a life has.
  struct Life {
    Process& process;
    volume::Volume& volume;
    writing::Branch& branch;
    writing::Publisher& publisher;
    bool is_publishing = false;
  };
  using LifePtr = std::shared_ptr<Life>;

  int pick(int count) { return static_cast<int>(dice_.next() % static_cast<std::uint64_t>(count)); }
  // Its disk may have failed.
  template <typename T>
  void expect(const char* what, const Result<T>& result) {
    if (result.ok() || result.error().code != Errc::kIo) tell(oracle_, what, result);
  }
  Async<void> with_branch(Process& process, volume::Volume& volume, Ends ends);
  Async<void> under_sessions(LifePtr life, Ends ends);
  Async<void> work(LifePtr life, async::StopToken stop);
  Async<void> act(LifePtr life, async::Gate& publishes);
  Result<void> begin_publish(LifePtr life, async::Gate& publishes);
  Async<void> publish(LifePtr life);
  Async<void> publish_all(Life& life);
  Async<void> wait_for_log(Life& life);
  Async<void> begin_anew(Life& life);
  Async<void> check_seen(writing::Branch& branch);
  Async<void> check_version(Life& life, volume::Manifest manifest);

  SplitMix64& dice_;
  Oracle& oracle_;
  writing::testing::LogDisk disk_;
  BranchTruth truth_;
  BranchTruth::Loss loss_ = BranchTruth::Loss::kProcess;
  const writing::Branch* branch_ = nullptr;  // Of the life.
  Ends ends_ = Ends::kAnyhow;
  bool is_told_ = false;  // The log, of the version that is about to be published.
  bool has_disk_ = false;
  bool is_killed_ = false;
  std::int64_t published_ = 0;
  std::int64_t failures_ = 0;  // Of the log.
};

}  // namespace runnel::volume_sim
