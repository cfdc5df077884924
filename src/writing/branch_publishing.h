#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "volume/snapshot.h"
#include "volume/volume.h"
#include "writing/branch.h"
#include "writing/publish_loop.h"
#include "writing/publisher.h"

namespace runnel::writing {

// Publishes a branch while its files are served, under one session of its volume after the other.
//
// Contract: once somebody else writes in its place it has lost: nothing can be changed any more.
// Threads:  the loop's.
// Lifetime: what it is given outlives it. run() has ended before its destruction; the volume has no
//           session but its.
class BranchPublishing {
 public:
  enum class Begins : std::uint8_t {
    kAnew,       // No program has a file of the branch open.
    kTakingOver  // Those of a process before this one have them open.
  };

  virtual ~BranchPublishing() = default;
  BranchPublishing(const BranchPublishing&) = delete;
  BranchPublishing& operator=(const BranchPublishing&) = delete;

  // Begins a session. Afterwards the branch is over what base() gives, or has lost. kConflict for
  // one that begins anew while another one writes.
  virtual Async<void> begin(Begins how, async::StopToken stop) = 0;
  // The version that the branch is over.
  virtual Async<volume::Snapshot> base() = 0;
  // Publishes until the stop, or, after finish(), until all is published and somebody else may
  // write. kNotFound once the volume is deleted.
  Async<void> run(async::StopToken stop);
  // No program has a file open any more.
  void finish() { finish_.stop(); }

  bool has_lost() const { return has_lost_; }
  // As PublishLoop has them. Once it has lost, kConflict, and what is refused as kReadOnly.
  Async<std::string> publish_now();
  Async<void> room(std::size_t bytes);
  void look_at_log() { publishing_.look_at_log(); }

 protected:
  static constexpr Duration kPause = Duration::seconds(1);  // Before a store that failed is asked.

  struct Options {
    PublishLoop::Options publishing;
    Publisher::Options publisher;
    // Called when it has lost, before anything else is done.
    std::function<void()> lost = [] {};
  };
  BranchPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch, Options options);

  // Its session was lost: begins the next one, or loses.
  virtual Async<void> go_on(async::StopToken stop) = 0;
  // All is published: somebody else may write.
  virtual Async<void> give_away() = 0;
  // Why nothing is published any more.
  virtual Error lost_error() const = 0;

  void lose();
  void tell_failed(const Error& error) const { options_.publishing.failed(error); }
  bool has_changes() const;
  volume::KeysInUse keys() const;
  async::EventLoop& loop() { return loop_; }
  volume::Volume& volume() { return volume_; }
  const volume::Volume& volume() const { return volume_; }
  Branch& branch() { return branch_; }
  const Branch& branch() const { return branch_; }
  Publisher& publisher() { return publisher_; }

 private:
  Async<void> publish_in_sessions(async::StopToken stop);
  Async<void> publish_in_session(async::StopToken stop);

  async::EventLoop& loop_;
  volume::Volume& volume_;
  Branch& branch_;
  const Options options_;
  Publisher publisher_;
  PublishLoop publishing_;
  async::StopSource finish_;
  bool has_lost_ = false;
};

}  // namespace runnel::writing
