#pragma once

#include <string>

#include "async/event_loop.h"
#include "volume/put.h"
#include "volume/volume.h"

namespace runnel::volume {

// Puts what is at a path of a version into another volume, as put_from() does: through memory, a
// few batches at a time, and stored once however often the target has it. A file or link gets
// `name` in options.into; of a folder the entries come there. The version is held meanwhile.
Async<PutResult> copy_between(async::EventLoop& loop, Volume& from, std::string version,
                              std::string path, std::string name, Volume& to, PutOptions options,
                              async::StopToken stop);

}  // namespace runnel::volume
