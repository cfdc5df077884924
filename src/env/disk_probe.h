#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::env {

// kTimeout when the file system of `folder`, which exists, takes no change within `patience`: it is
// frozen, or its disk hangs. Changes nothing.
//
// Threads: any, of a process with few threads: it forks.
// Why:     a thread that waits for such a disk cannot be killed, and its process cannot end before
//          it: it is a child that asks, which is left alone when it gets no answer.
Result<void> probe_disk(const std::string& folder, Duration patience);

// kTimeout when nobody says within `patience` what stands at `path`, if anything: it lies on a
// mount that is dead. Threads and why as above.
Result<void> probe_path(const std::string& path, Duration patience);

}  // namespace runnel::env
