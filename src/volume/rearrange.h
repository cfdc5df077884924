#pragma once

#include <string>
#include <vector>

#include "async/event_loop.h"
#include "volume/volume.h"

namespace runnel::volume {

// New versions made of names alone: what files hold stays where it is in the store, and no chunk is
// read. Paths are those of a Snapshot.
//
// Where something goes is as a shell's cp and mv have it: into `to` when that is a folder or ends
// with '/', else it is called `to`; folders on the way are made.
//
// Errors: kNotFound for what is not there; kInvalid for a folder that would go into itself, and for
//         what would stay where it is; kConflict when a folder would take the place of a file, or
//         the other way round.

struct Rearranged {
  Manifest manifest;
  std::string path;  // Where it is now.
};

// The path that what is called `name` gets; without a name, which a root has not, `to` itself.
Async<std::vector<std::string>> place_in(Snapshot& newest, std::string to, std::string name);

// Costs what the two folders take, however much is below `from`. A file in the way is replaced, a
// folder unless it is empty is not: kConflict.
Async<Rearranged> move_path(Volume& volume, std::string from, std::string to, std::string message);

// Of any version; files that are there are replaced, folders are merged.
Async<Rearranged> copy_path(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string from, std::string to, std::string message,
                            async::StopToken stop);

// `to` is what `from` was in the version, and has nothing else; its parents come back, too.
Async<Rearranged> restore_path(async::EventLoop& loop, Volume& volume, std::string version,
                               std::string from, std::string to, std::string message,
                               async::StopToken stop);

}  // namespace runnel::volume
