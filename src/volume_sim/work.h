#pragma once

#include "volume/volume.h"
#include "volume_sim/oracle.h"
#include "volume_sim/process.h"

namespace runnel::volume_sim {

// What processes do, once; each tells the oracle what it was told and saw. An error that a bad
// network, or a gc that took it for dead, may cause is its end; any other is told to the oracle.

using Work = Async<void> (*)(Process&, Oracle&);

// The process's own volume.
Async<volume::Volume> open_own(Process& process, Oracle& oracle, const char* what);

Async<void> put_files(Process& process, Oracle& oracle);
Async<void> remove_files(Process& process, Oracle& oracle);
// Gives a file another name, or brings back a folder of any version, by reference.
Async<void> rearrange(Process& process, Oracle& oracle);
Async<void> read_version(Process& process, Oracle& oracle);
Async<void> tag_version(Process& process, Oracle& oracle);
Async<void> collect(Process& process, Oracle& oracle);
Async<void> create_volume(Process& process, Oracle& oracle);
// Makes its volume as a clone of another one, if it can.
Async<void> clone_another(Process& process, Oracle& oracle);
Async<void> delete_whole(Process& process, Oracle& oracle);

}  // namespace runnel::volume_sim
