#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "async/async.h"
#include "async/stop_token.h"
#include "volume/snapshot.h"

namespace runnel::writing {

// Publishes a branch while its files are served, under a session of its volume that it begins.
//
// Contract: once somebody else writes in its place it has lost: nothing can be changed any more.
// Threads:  the loop's.
class BranchPublishing {
 public:
  enum class Begins : std::uint8_t {
    kAnew,       // No program has a file of the branch open.
    kTakingOver  // Those of a process before this one have them open.
  };

  virtual ~BranchPublishing() = default;

  // Begins a session. Afterwards the branch is over what base() gives, or has lost. kConflict for
  // one that begins anew while another one writes.
  virtual Async<void> begin(Begins how, async::StopToken stop) = 0;
  // The version that the branch is over.
  virtual Async<volume::Snapshot> base() = 0;
  // Publishes until the stop, or, after finish(), until all is published and somebody else may
  // write. kNotFound once the volume is deleted.
  virtual Async<void> run(async::StopToken stop) = 0;
  // No program has a file open any more.
  virtual void finish() = 0;

  virtual bool has_lost() const = 0;
  // As PublishLoop has them. Once it has lost, kConflict, and what is refused as kReadOnly.
  virtual Async<std::string> publish_now() = 0;
  virtual Async<void> room(std::size_t bytes) = 0;
  virtual void look_at_log() = 0;
};

}  // namespace runnel::writing
