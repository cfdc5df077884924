#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/log_reader.h"

namespace runnel::store {

// Reads the event log in the SQLite database at `path` while it is open and appended to: what is
// durable, in a transaction for each read(). Writes nothing.
Result<std::unique_ptr<LogConnection>> connect_sqlite(const std::string& path);

}  // namespace runnel::store
