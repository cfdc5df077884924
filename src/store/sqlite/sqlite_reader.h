#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/log_reader.h"

namespace runnel::store {

// A connection of its own to the event log in the SQLite database at `path`, which is open: it
// reads what is durable while the log appends, and writes nothing.
Result<std::unique_ptr<LogReader>> open_sqlite_reader(const std::string& path);

}  // namespace runnel::store
