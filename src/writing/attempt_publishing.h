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
// Lifetime: what it is given outlives it. run() has ended before its destruction; the volume has no
//           session but its.
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
  Async<volume::Snapshot> base() override { return volume::snapshot_of_branch(volume_); }
  Async<void> run(async::StopToken stop) override;
  void finish() override { finish_.stop(); }

  bool has_lost() const override { return has_lost_; }
  Async<std::string> publish_now() override;
  Async<void> room(std::size_t bytes) override;
  void look_at_log() override { publishing_.look_at_log(); }

 private:
  Async<void> begin_branch();
  Async<void> publish_in_sessions(async::StopToken stop);
  Async<void> publish_in_session(async::StopToken stop);
  Async<void> go_on(async::StopToken stop);
  Async<bool> begin_again();
  Async<bool> is_over_pinned();
  bool has_changes() const;
  void lose();
  Error is_lost() const;
  volume::KeysInUse keys() const;

  async::EventLoop& loop_;
  volume::Volume& volume_;
  Branch& branch_;
  Options options_;
  Publisher publisher_;
  PublishLoop publishing_;
  async::StopSource finish_;
  bool has_lost_ = false;
};

}  // namespace runnel::writing
