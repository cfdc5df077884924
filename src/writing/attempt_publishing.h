#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "async/event_loop.h"
#include "volume/branch_session.h"
#include "volume/volume.h"
#include "writing/branch.h"
#include "writing/branch_publishing.h"
#include "writing/publish_loop.h"
#include "writing/publisher.h"

namespace runnel::writing {

// Publishes a branch into the branch of a volume that has a name (volume/branch_session.h), which
// is nobody's version until it is merged: what an attempt of a task writes. At its end it is
// sealed.
//
// Contract: as BranchPublishing. It has lost when somebody goes on with the branch in a later term,
//           or the branch was removed: kConflict also for one that takes over, since nothing is
//           left that its files could be over.
class AttemptPublishing final : public BranchPublishing {
 public:
  struct Options {
    volume::BranchWriting writing;
    PublishLoop::Options publishing;
    std::function<void(const volume::Manifest&)> rebase;  // As Publisher has it.
    // Called when it has lost.
    std::function<void()> lost = [] {};
  };
  AttemptPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch,
                    Options options);

  Async<void> begin(Begins how, async::StopToken stop) override;
  Async<volume::Snapshot> base() override { return volume::snapshot_of_branch(volume()); }

 private:
  Async<void> go_on(async::StopToken stop) override;
  Async<void> give_away() override { return volume().seal_branch(); }
  Error lost_error() const override;
  Async<void> begin_branch();
  Async<bool> begin_again();
  Async<bool> is_over_pinned();

  volume::BranchWriting writing_;
};

}  // namespace runnel::writing
