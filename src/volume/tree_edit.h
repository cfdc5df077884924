#pragma once

#include "async/stop_token.h"
#include "volume/edit.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// An edit that has what is at a place of a version: its files by reference, so that no chunk is
// read. Takes memory for each file and folder, as a put does.
Async<Edit> edit_of(Snapshot& snapshot, Snapshot::Found found, async::StopToken stop);

// Lets the edit and all below it take the place of whatever is there.
void make_exact(Edit& edit);

}  // namespace runnel::volume
