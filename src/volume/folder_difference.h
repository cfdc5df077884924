#pragma once

#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// How a folder of this machine is not as a folder of a version: paths below it.
struct FolderDifference {
  // What the version does not have, or has as a folder and this machine not, or the other way
  // round: the topmost of it. Nothing behind a link is looked at.
  std::vector<std::string> surplus;
  // Files and links that are not there, or not with the size, time and mode of the version's.
  std::vector<std::string> missing;
  // Of these, what is there: who gets them takes away another file or link.
  std::vector<std::string> replaced;
};

// A folder that is not there has nothing. Looks on a thread "volume-compare".
Async<FolderDifference> compare_folder(async::EventLoop& loop, Snapshot& snapshot, Inode folder,
                                       std::string target, async::StopToken stop);

}  // namespace runnel::volume
