#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "env/clock.h"
#include "store/event_log.h"

namespace runnel::store {

// Opens the event log in the SQLite database at `path`, which is made when missing.
//
// An unfinished transaction at the end of the write-ahead log is dropped with a notice. Damage
// before it is kCorrupt after the files were copied to `damaged-<time>/` beside them; kUnsupported
// when a newer version of runnel wrote the database. The chain is verified from the newest good
// snapshot on. The caller makes sure that it is the only one (env::FileLock); `clock` names the
// copies.
Result<std::unique_ptr<EventLog>> open_sqlite_log(const std::string& path, const env::Clock& clock);

}  // namespace runnel::store
