#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "volume/seen_session.h"
#include "volume/volume.h"

namespace runnel::volume {

// Branches of a volume: what each of many writers has written, which is nobody's version until it
// is merged. docs/design/volume_branch.md.

// Who writes a branch, and in which term: the number of an attempt.
struct BranchWriting {
  std::string name;
  std::int64_t term = 1;
  bool is_new = true;  // Whether it may be made; else somebody has begun it in this term.
  // What terms before have written is in it no more: it is as its base was.
  bool from_base = false;
};

// Begins to write a branch, which is the volume's session from then on: over what a branch of this
// name has, whose writer is refused afterwards, or over the newest version. It is kept like any
// session (with_session()), and stays where it is when that ends.
//
// Errors: kInvalid for a name that is none; kConflict once it is written in a later term, or was
//         removed; kUnavailable while others begin it, too.
Async<void> begin_branch(Volume& volume, BranchWriting writing);

// What the volume's branch has by now.
Async<Snapshot> snapshot_of_branch(Volume& volume);

// The branch changed by the edit, whose chunks are all put. `sealed`: it is all that is to be
// written. kConflict when somebody else goes on with the branch, or it was removed.
Async<Manifest> publish_in_branch(Volume& volume, const Edit& edit, const NewChunks& chunks,
                                  std::int64_t packed, bool sealed);

// A branch as it was seen.
struct SeenBranch {
  SeenSession session;

  const SessionRecord& record() const { return *session.record; }
  const std::string& name() const { return record().source; }
};

// All branches of the volume, by their names.
Async<std::vector<SeenBranch>> see_branches(Volume& volume);
// The one of a name. kNotFound: there is none.
Async<SeenBranch> find_branch(Volume& volume, std::string name);
// Those of several names, in their order, by one look.
Async<std::vector<SeenBranch>> find_branches(Volume& volume, std::vector<std::string> names);

// Says in a sealed branch which version has it. Whether it says so now: not when it has changed
// since it was seen.
Async<bool> mark_merged(Volume& volume, SeenBranch branch, std::string version);

// What it has that no version has is garbage from then on, and who writes it is refused. Whether it
// was removed: not when it has changed since it was seen.
Async<bool> remove_branch(Volume& volume, SeenBranch branch);

// The name of a branch: 1 to 200 of A-Z a-z 0-9 - _ .
Result<void> check_branch_name(const std::string& name);

}  // namespace runnel::volume
