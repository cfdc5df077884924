#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "env/clock.h"
#include "volume/lease.h"
#include "volume/volume.h"
#include "writing/branch.h"
#include "writing/branch_publishing.h"
#include "writing/publish_loop.h"
#include "writing/publisher.h"

namespace runnel::writing {

// Publishes a branch whose writer alone may publish versions of its volume, by a lease, from one
// session to the next. docs/design/volume_lease.md.
//
// Contract: a writer who was taken for dead, and whose volume has another writer or another newest
//           version by then, has lost: nothing can be changed any more, and what was written since
//           the version that the branch is over becomes a version with a tag of its own,
//           "recovered-EPOCH". The log is kept until that is there.
// Threads:  the loop's.
class LeasedPublishing final : public BranchPublishing {
 public:
  struct Options {
    env::Clock& clock;
    std::string source;  // Where the branch is written to, as its session says.
    PublishLoop::Options publishing;
    std::function<void(const volume::Manifest&)> rebase;  // As Publisher has it.
    // Called when it has lost, before anything else is done.
    std::function<void()> lost = [] {};
    // Told what was set aside, as "NAME@TAG".
    std::function<void(const std::string&)> recovered = [](const std::string&) {};
  };
  LeasedPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch, Options options);

  // Takes the lease, too; the branch is over the newest version afterwards.
  Async<void> begin(Begins how, async::StopToken stop) override;
  Async<volume::Snapshot> base() override {
    return volume().snapshot_by_id(*branch().overlay().base());
  }

 private:
  Async<void> go_on(async::StopToken stop) override;
  Async<void> give_away() override { return volume::release_lease(volume()); }
  Error lost_error() const override;
  volume::SessionRecord session_record() const;
  Async<void> begin_session(async::StopToken stop);
  // The same as soon as the store answers. Whether this writer has the lease.
  Async<bool> begin_next_session(async::StopToken stop);
  Async<void> lose_and_set_aside(async::StopToken stop);
  // Under a session of its own, or the one that is there, which ends.
  Async<void> set_aside(async::StopToken stop);
  Async<void> set_aside_in_session();
  Async<void> rebase();
  bool is_over_newest() const;
  std::string free_tag() const;

  env::Clock& clock_;
  const std::string source_;
  const std::function<void(const volume::Manifest&)> rebase_;
  const std::function<void(const std::string&)> tell_recovered_;
  std::int64_t epoch_ = 0;  // Of the last lease.
  std::string recovered_;   // As it was told.
};

}  // namespace runnel::writing
