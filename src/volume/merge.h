#pragma once

#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "volume/volume.h"

namespace runnel::volume {

struct MergeOptions {
  // The name of the merge: of the same branches, as they are, it is made once, whoever asks again.
  std::string origin;
  std::string message;
  // No other merge has its name: where branches are gone, the version of that name has them.
  bool is_only = false;
};

// Makes one version of what sealed branches have changed, each against its base, over the newest
// version: its id. The branches say so, and stay until remove_merged().
// docs/design/volume_branch.md.
//
// Contract: all or nothing, and once: after a kill at any moment it may be called again with the
//           same names and origin. The volume has no session.
// Errors:   kConflict naming a path and who changed it, when two branches, or a branch and the
//           newest version, have different things there: nothing is published, and the branches
//           stay as they are. kPrecondition for a branch that is not sealed; kNotFound for one that
//           is not there.
Async<std::string> merge_branches(async::EventLoop& loop, Volume& volume,
                                  std::vector<std::string> names, MergeOptions options,
                                  async::StopToken stop);

// To be called once it is known for good which version has them: removes those that are merged.
Async<void> remove_merged(Volume& volume, std::vector<std::string> names);

}  // namespace runnel::volume
